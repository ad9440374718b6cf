"""What a message holds beside its text, in a few words: ``photo``, ``voice 0:12``, ``poll: Where? | Here 3``.

Everything in them was written by a stranger: it is cut, made one line, and cannot close the brackets around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tidegate.core.message_content import (
    PLAIN,
    Embed,
    Forward,
    MessageContent,
    MessageCounts,
    MessageKind,
    OriginKind,
    Poll,
)

_LONGEST_NAME = 120
_LONGEST_TEXT = 300
_LONGEST_FURTHER = 1_000
_MOST_ANSWERS = 30
_MOST_EMBEDS = 10
_MOST_DETAILS = 6
_MOST_MENTIONS = 100
_BRACKETS = str.maketrans("[]", "()")

LINE_BREAK = " ⏎ "

_FORMS = {"image": "photo", "file": "file"}
_OLD_KINDS = {"photo": "photo", "document": "file"}
_TIMED = ("voice", "audio", "video", "round video", "animation")
_SAID_OTHERWISE = frozenset(
    {
        MessageKind.TEXT, MessageKind.PHOTO, MessageKind.VIDEO, MessageKind.ROUND_VIDEO, MessageKind.ANIMATION,
        MessageKind.VOICE, MessageKind.AUDIO, MessageKind.STICKER, MessageKind.FILE, MessageKind.POLL,
        MessageKind.SERVICE, MessageKind.UNSUPPORTED, "",
    }
)  # fmt: skip
"""Kinds whose content the text, a file, a poll or a sentence says."""


class FileFacts(Protocol):
    """What is known of a file."""

    @property
    def name(self) -> str: ...
    @property
    def mime(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def form(self) -> str: ...


def flat(text: str) -> str:
    """A text without line ends of any kind."""
    return LINE_BREAK.join(line.strip() for line in text.splitlines() if line.strip())


def inner(text: str, most: int = _LONGEST_NAME) -> str:
    """A stranger's text within brackets of ours: one line, cut, without brackets of its own."""
    line = flat(text[: 4 * most]).translate(_BRACKETS)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def with_names(text: str, mentions: Mapping[str, str]) -> str:
    """A text with names for the numbers that mentions are written with."""
    for written, name in list(mentions.items())[:_MOST_MENTIONS]:
        text = text.replace(written, f"@{name}") if written else text
    return text


def file_words(file: FileFacts, details: Mapping[str, Any]) -> str:
    """What a file is: ``photo``, ``voice 0:12``, ``file a.zip``, ``sticker 😀``."""
    form = file_form(file)
    length = duration_words(details.get("duration")) if form in _TIMED else ""
    sign = inner(str(details.get("emoji", "")), 20) if form == "sticker" else ""
    name = inner(file.name) or ("without a name" if form == "file" else "")
    return " ".join(piece for piece in (form, length, sign, name) if piece)


def file_form(file: FileFacts) -> str:
    """What a file is to the reader; of older rows as far as its kind and type say."""
    if file.form:
        return _FORMS.get(file.form, file.form)
    general = file.mime.partition("/")[0]
    return _OLD_KINDS.get(file.kind) or (general if general in ("video", "audio") else "file")


def sticker_words(details: Mapping[str, Any]) -> list[str]:
    """Stickers that are known by their names alone."""
    stickers = details.get("stickers")
    named = [one for one in stickers if isinstance(one, Mapping)] if isinstance(stickers, list) else []
    return [f"sticker {inner(str(one.get('name', '')))}".strip() for one in named[:_MOST_EMBEDS]]


def duration_words(seconds: Any) -> str:
    """A length in minutes and seconds, such as 0:12; empty where there is none."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < 1e7:
        return ""
    hours, rest = divmod(round(seconds), 3_600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def forward_words(forward: Forward) -> str:
    """From where a message was forwarded."""
    name = inner(forward.name)
    who = name or {OriginKind.HIDDEN: "somebody hidden", OriginKind.IMPORT: "another app"}.get(forward.kind, "")
    signed = inner(forward.signature)
    return f"forwarded from {who or forward.kind.value}{f' ({signed})' if signed else ''}"


def poll_words(poll: Poll, counts: MessageCounts) -> str:
    """A question with its answers and how often each was chosen, where that is known."""
    votes = counts.votes or {}
    answers = [
        f"{inner(one.text)}{f' {votes[one.key]}' if one.key in votes else ''}" for one in poll.answers[:_MOST_ANSWERS]
    ]
    return " | ".join([f"{'quiz' if poll.quiz else 'poll'}: {inner(poll.question, _LONGEST_TEXT)}", *answers])


def embed_words(embed: Embed) -> str:
    """What a card says first."""
    said = embed.title or embed.author or embed.description or embed.provider or embed.url or embed.kind
    return f"embed: {inner(said, _LONGEST_TEXT)}"


def details_words(details: Mapping[str, Any]) -> str:
    """The first values of details that people read."""
    values = [
        value for value in details.values() if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    return ", ".join(inner(str(value)) for value in values[:_MOST_DETAILS])


def kind_words(kind: str, content: MessageContent) -> str:
    """A kind that neither text nor file says, such as a contact or a place."""
    if content.unsupported or kind == MessageKind.UNSUPPORTED:
        return f"unsupported: {inner(content.unsupported) or 'unknown'}"
    if kind in _SAID_OTHERWISE:
        return ""
    said = details_words(content.details or {})
    return f"{kind}: {said}" if said else kind


def content_words(kind: str, content: MessageContent, counts: MessageCounts, files: Sequence[FileFacts]) -> list[str]:
    """What a message holds beside its text, in the order in which it is read; what it is forwarded from is apart."""
    if content is PLAIN and kind == MessageKind.TEXT and not files:
        return []
    details, link = content.details or {}, content.preview
    embeds = content.embeds if content.forward is None else (*content.embeds, *content.forward.embeds)
    further = [file_words(file, details) for file in files] or sticker_words(details)
    if not further and kind in (MessageKind.STICKER, *_TIMED, MessageKind.PHOTO):
        further = [kind]  # its file is gone, or not named
    found = [
        *further,
        kind_words(kind, content),
        "" if content.poll is None else poll_words(content.poll, counts),
        *(embed_words(one) for one in embeds[:_MOST_EMBEDS]),
        "" if link is None else f"link: {inner(link.title or link.site or link.url, _LONGEST_TEXT)}",
        *(f"text: {inner(text, _LONGEST_FURTHER)}" for text in content.texts[:_MOST_EMBEDS]),
    ]
    return [words for words in found if words]
