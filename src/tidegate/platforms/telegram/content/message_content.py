"""The kind of a message, and what it holds beside its text, files and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from telethon.tl import TLObject, types

from tidegate.core.ids import UserId
from tidegate.core.message_content import PLAIN, LinkPreview, MessageContent, MessageKind
from tidegate.platforms.interface import Message, Previewed
from tidegate.platforms.telegram.content.media_details import media_of
from tidegate.platforms.telegram.content.message_origin import forward_of, reply_of
from tidegate.platforms.telegram.content.people import People, address_of, is_anonymous
from tidegate.platforms.telegram.content.polls import poll_of
from tidegate.platforms.telegram.content.raw_message import raw_of_web_page, with_web_page
from tidegate.platforms.telegram.content.service_texts import service_text
from tidegate.platforms.telegram.content.text_formatting import formatting_of, unknown_entity

PINNED = "pinned"
_MARKS = {"pinned": PINNED, "silent": "silent", "from_scheduled": "sent by schedule", "noforwards": "protected"}
_MOST_TEXTS = 1_000
"""Further texts of one message that are kept apart; the rest stays in what Telegram sent."""


def content_of(found: Any, people: People) -> tuple[MessageKind, MessageContent]:
    """What a message is and holds."""
    kind, fields = _service(found, people) if found.action is not None else _posted(found, people)
    if marks := _marks(found):
        fields["marks"] = marks
    if found.reply_to is not None and (reply := reply_of(found.reply_to, people)) is not None:
        fields["reply"] = reply
    if found.ttl_period:
        fields["expires_at"] = _expiry(found.date, found.ttl_period)
    return kind, MessageContent(**fields) if fields else PLAIN


def unreadable(found: Any) -> tuple[MessageKind, MessageContent]:
    """What is said of a message that could not be read: the kind of thing that it holds."""
    said = found.action if found.action is not None else found.media
    return MessageKind.UNSUPPORTED, MessageContent(unsupported=type(found if said is None else said).__name__)


def _service(found: Any, people: People) -> tuple[MessageKind, dict[str, Any]]:
    words = service_text(found, people)
    if words is None:
        return MessageKind.UNSUPPORTED, {"unsupported": type(found.action).__name__}
    return MessageKind.SERVICE, {"service": words}


def _posted(found: Any, people: People) -> tuple[MessageKind, dict[str, Any]]:
    """The kind of a posted message, and those fields of its content that it has."""
    kind, fields = _media(found.media, people)
    if found.entities:
        fields["formatting"] = formatting_of(found.message or "", found.entities)
        if unknown := unknown_entity(found.entities):
            fields["unsupported"] = fields.get("unsupported", unknown)
    if found.fwd_from is not None:
        fields["forward"] = forward_of(found.fwd_from, people)
    if found.via_bot_id:
        fields["via"] = address_of(people, UserId(found.via_bot_id))
    if texts := _texts(found):
        fields["texts"] = texts
    return kind, fields


def _media(media: Any, people: People) -> tuple[MessageKind, dict[str, Any]]:
    if media is None:
        return MessageKind.TEXT, {}
    kind, details = media_of(media, people)
    fields: dict[str, Any] = {} if details is None else {"details": details}
    if kind is MessageKind.UNSUPPORTED:
        fields["unsupported"] = type(media).__name__
    if isinstance(media, types.MessageMediaPoll):
        fields["poll"] = poll_of(media.poll, media.results)
    if isinstance(media, types.MessageMediaWebPage) and isinstance(media.webpage, types.WebPage):
        fields["preview"] = _preview(media.webpage)
    if isinstance(media, types.MessageMediaWebPage) and isinstance(media.webpage, types.WebPagePending):
        fields["awaited_preview"] = str(media.webpage.id)
    return kind, fields


def preview_made(page: Any) -> Previewed | None:
    """A preview that comes after its message, or the news that there is none; None while it is still being made."""
    if not isinstance(page, types.WebPage | types.WebPageEmpty):
        return None
    preview = _preview(page) if isinstance(page, types.WebPage) else None
    raw = raw_of_web_page(page)

    def shown(message: Message) -> Message:
        content = replace(message.content, preview=preview, awaited_preview="")
        return replace(message, content=content, raw=with_web_page(message.raw, raw))

    return Previewed(str(page.id), shown)


def _preview(page: types.WebPage) -> LinkPreview:
    return LinkPreview(
        url=page.url,
        site=page.site_name or "",
        title=page.title or "",
        description=page.description or "",
        author=page.author or "",
        kind=page.type or "",
    )


def _marks(found: Any) -> tuple[str, ...]:
    """The yes-or-no facts of a message.

    A hidden edit has no mark: reactions hide themselves as edits, and must not look like one (``edited_at``).
    """
    fields = vars(found)
    marks = [mark for name, mark in _MARKS.items() if fields.get(name)]
    if getattr(found.media, "spoiler", None):
        marks.append("spoiler")
    if is_anonymous(found):
        marks.append("anonymous")
    return tuple(marks)


def _expiry(date: datetime | None, ttl: int) -> datetime | None:
    return None if date is None else date + timedelta(seconds=ttl)


# Further texts


def _texts(found: Any) -> tuple[str, ...]:
    """Texts beside the message's own: those of buttons, of a rich message, and of a fact check."""
    if found.reply_markup is None and found.rich_message is None and found.factcheck is None:
        return ()
    texts: list[str] = []
    if found.rich_message is not None:
        texts += _lines(found.rich_message.blocks)
    if found.factcheck is not None and found.factcheck.text is not None:
        texts.append(found.factcheck.text.text)
    for row in getattr(found.reply_markup, "rows", ()):
        texts += [_button_text(button) for button in row.buttons]
    return tuple(text for text in texts if text)[:_MOST_TEXTS]


def _button_text(button: Any) -> str:
    """What a button says, and where it leads."""
    address = getattr(button.type, "url", None)
    return ": ".join(filter(None, (button.text, address)))


def _lines(blocks: list[Any]) -> Iterator[str]:
    """The text of each piece of a page, by walking it without recursion: nesting is the sender's choice."""
    waiting: list[Any] = list(reversed(blocks))
    while waiting:
        one = waiting.pop()
        if _is_text(one):
            yield _plain(one)
        elif isinstance(one, str):
            yield one
        elif isinstance(one, TLObject):
            waiting += [value for name in reversed(_WORDED) if (value := getattr(one, name, None)) is not None]
        elif isinstance(one, list):
            waiting += reversed(one)


_WORDED = (
    "title", "author", "source", "text", "cover", "blocks", "items", "rows", "cells", "articles", "description",
    "buttons", "html", "caption", "credit",
)  # fmt: skip
"""Fields of a page's pieces that hold words or further pieces, in the order of reading."""


def _is_text(value: Any) -> bool:
    return isinstance(value, TLObject) and type(value).__name__.startswith("Text")


def _plain(text: Any) -> str:
    """The words of a formatted text of a page."""
    words: list[str] = []
    waiting = [text]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            words.append(one)
        elif isinstance(one, types.TextConcat):
            waiting += reversed(one.texts)
        elif isinstance(one, TLObject):
            waiting.append(getattr(one, "text", None) or getattr(one, "alt", None) or getattr(one, "source", None))
    return "".join(words)
