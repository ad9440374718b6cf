"""Formatting of a text. Telegram counts in UTF-16 units; our spans count code points of the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from telethon.tl import types

from tidegate.core.message_content import SpanKind, TextSpan

_KINDS = {
    types.MessageEntityBold: SpanKind.BOLD,
    types.MessageEntityItalic: SpanKind.ITALIC,
    types.MessageEntityUnderline: SpanKind.UNDERLINE,
    types.MessageEntityStrike: SpanKind.STRIKE,
    types.MessageEntitySpoiler: SpanKind.SPOILER,
    types.MessageEntityCode: SpanKind.CODE,
    types.MessageEntityPre: SpanKind.CODE_BLOCK,
    types.MessageEntityBlockquote: SpanKind.QUOTE,
    types.MessageEntityUrl: SpanKind.LINK,
    types.MessageEntityTextUrl: SpanKind.LINK,
    types.MessageEntityEmail: SpanKind.EMAIL,
    types.MessageEntityPhone: SpanKind.PHONE,
    types.MessageEntityMention: SpanKind.MENTION,
    types.MessageEntityMentionName: SpanKind.MENTION,
    types.InputMessageEntityMentionName: SpanKind.MENTION,
    types.MessageEntityHashtag: SpanKind.HASHTAG,
    types.MessageEntityCashtag: SpanKind.CASHTAG,
    types.MessageEntityBotCommand: SpanKind.COMMAND,
    types.MessageEntityBankCard: SpanKind.BANK_CARD,
    types.MessageEntityCustomEmoji: SpanKind.CUSTOM_EMOJI,
    types.MessageEntityFormattedDate: SpanKind.DATE,
    types.MessageEntityDiffInsert: SpanKind.INSERTED,
    types.MessageEntityDiffDelete: SpanKind.DELETED,
    types.MessageEntityDiffReplace: SpanKind.REPLACED,
}
"""A link whose text is the address has no target of its own: many of them could overlap on one long text."""

_TARGETS: dict[type, Callable[[Any], object]] = {
    types.MessageEntityPre: lambda one: one.language,
    types.MessageEntityTextUrl: lambda one: one.url,
    types.MessageEntityMentionName: lambda one: one.user_id,
    types.InputMessageEntityMentionName: lambda one: getattr(one.user_id, "user_id", None),
    types.MessageEntityCustomEmoji: lambda one: one.document_id,
    types.MessageEntityFormattedDate: lambda one: one.date and int(one.date.timestamp()),
    types.MessageEntityDiffReplace: lambda one: one.old_text,
}
_WITH_MORE = (types.MessageEntityBlockquote, types.MessageEntityFormattedDate)
"""Kinds with yes-or-no facts that a span does not hold, such as whether a quotation is collapsed."""


def formatting_of(text: str, entities: Sequence[Any] | None) -> tuple[TextSpan, ...]:
    """The formatted stretches of a text, in Telegram's order.

    What leaves the text is cut to it. What has nothing of it, or no length, is left out. Half a character is taken as
    the whole.
    """
    if not entities:
        return ()
    units = _units(text)
    return tuple(span for one in entities if (span := _span(one, units)) is not None)


def unheld(text: str, entities: Sequence[Any] | None) -> list[Any]:
    """Those entities that cannot be restored from their span, because it says less or lies elsewhere."""
    if not entities:
        return []
    units = _units(text)
    return [one for one in entities if not _is_held(one, units)]


def unknown_entity(entities: Iterable[Any] | None) -> str:
    """The name of the first kind of entity that this version does not know; empty if it knows all."""
    return next((type(one).__name__ for one in entities or () if type(one) not in _KINDS), "")


def _units(text: str) -> Sequence[int]:
    """For each UTF-16 unit the index of its character; a character outside the basic plane has two."""
    if text.isascii() or max(text, default="") <= "\uffff":
        return range(len(text))
    return [index for index, letter in enumerate(text) for _ in range(2 if letter > "\uffff" else 1)]


def _span(entity: Any, units: Sequence[int]) -> TextSpan | None:
    begin, end = max(entity.offset, 0), min(entity.offset + entity.length, len(units))
    if begin >= end:
        return None
    kind = _KINDS.get(type(entity), SpanKind.UNSUPPORTED)
    return TextSpan(kind, units[begin], units[end - 1] + 1, _target(entity, kind))


def _target(entity: Any, kind: SpanKind) -> str:
    if kind is SpanKind.UNSUPPORTED:
        return type(entity).__name__
    target = _TARGETS.get(type(entity))
    return str(target(entity) or "") if target else ""


def _is_held(entity: Any, units: Sequence[int]) -> bool:
    begin, end = entity.offset, entity.offset + entity.length
    if type(entity) not in _KINDS or not 0 <= begin < end <= len(units):
        return False
    if isinstance(entity, _WITH_MORE) and any(value is True for value in vars(entity).values()):
        return False
    splits = (place for place in (begin, end) if 0 < place < len(units))
    return all(units[place] != units[place - 1] for place in splits)
