"""JSON of what a message holds beside its text and files, the same for every document of a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.core.ids import ChannelId, MessageId, UserId
from tidegate.core.json_fields import Instant, document_of, instant
from tidegate.core.message_content import (
    NO_COUNTS,
    PLAIN,
    Embed,
    Forward,
    LinkPreview,
    MessageContent,
    MessageCounts,
    MessageKind,
    PersonKind,
    Poll,
    Reply,
    TextSpan,
)
from tidegate.core.rules.storable_text import storable_json
from tidegate.history.content_json import read_content, read_counts
from tidegate.history.raw_json import unpack

COMPLETE = "complete"
PARTIAL = "partial"
"""A message that was stored before every field of it was: its other fields are empty until it is read again."""

_ANONYMOUS = "anonymous"
_BOTS = (PersonKind.BOT, PersonKind.WEBHOOK)
_KINDS = frozenset(one.value for one in MessageKind)
_PERSON_KINDS = frozenset(one.value for one in PersonKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattingSpan:
    """A formatted range of a text, in characters (code points); *target* is for example the address of a link."""

    kind: str
    start: int
    end: int
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedField:
    """A named value in a card."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedShown:
    """A card beside a message; *media* are the addresses of its pictures and videos."""

    kind: str
    title: str
    description: str
    url: str
    author: str
    footer: str
    provider: str
    at: Instant | None
    colour: int | None
    fields: list[EmbedField]
    media: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardOrigin:
    """Where a message was forwarded from. *kind* is person, hidden, channel or import.

    *text*, *embeds* and *files* are there where the platform keeps them apart from the message.
    """

    kind: str
    name: str
    id: int | None
    at: Instant | None
    message: MessageId | None
    signature: str
    text: str
    embeds: list[EmbedShown]
    files: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTarget:
    """What a message answers; *channel* is another chat than its own, *quote* the quoted piece of the text.

    *item* is the key of an answered poll answer or task. *gone* says that the platform no longer has the message.
    """

    message: MessageId | None
    channel: ChannelId | None
    author: str
    quote: str
    formatting: list[FormattingSpan]
    story: int | None
    item: str
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PollAnswerShown:
    """An answer of a poll; *votes* is null where the platform does not say, *correct* where it is no quiz."""

    key: str
    text: str
    correct: bool | None
    votes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollShown:
    """A question with its answers; *voters* is how many people chose any."""

    question: str
    answers: list[PollAnswerShown]
    quiz: bool
    multiple: bool
    public: bool
    closed: bool
    closes_at: Instant | None
    explanation: str
    voters: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAuthor:
    """Who wrote a message, by the name of that time. *kind* is null where it is not known."""

    id: UserId | None
    name: str
    bot: bool
    kind: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFields:
    """What a message holds beside its text and files.

    *fields* is ``partial`` for a message that was stored before all of these were. *service_text* is what the platform
    announced, in words. *marks* are facts such as ``pinned``. *views*, *forwards*, *replies*, votes and reactions are
    as of *as_of*. *raw* is what the platform sent beyond these fields, and null unless it was requested.
    """

    kind: str
    fields: str
    formatting: list[FormattingSpan]
    forwarded_from: ForwardOrigin | None
    reply: ReplyTarget | None
    poll: PollShown | None
    embeds: list[EmbedShown]
    preview: LinkPreview | None
    service_text: str
    details: dict[str, Any]
    mentions: dict[str, str]
    texts: list[str]
    marks: list[str]
    via: str
    expires_at: Instant | None
    unsupported: str
    views: int | None
    forwards: int | None
    replies: int | None
    as_of: Instant | None
    person: MessageAuthor | None
    raw: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """What is stored of a message beside its text and files, and who is answered in it."""

    kind: str
    content: MessageContent
    counts: MessageCounts
    counted_at: datetime | None
    author: str
    author_id: UserId | None
    automatic: bool
    person_kind: PersonKind | None
    reply_to: MessageId | None
    answered: str | None
    raw: Mapping[str, Any] | None

    @property
    def is_partial(self) -> bool:
        return not self.kind

    @property
    def author_kind(self) -> PersonKind | None:
        """What its author is; None where that is not known."""
        if _ANONYMOUS in self.content.marks:
            return PersonKind.ANONYMOUS
        return PersonKind.BOT if self.person_kind is None and self.automatic else self.person_kind


def stored_content(row: asyncpg.Record | Mapping[str, Any], *, answered: str | None) -> StoredContent:
    """The content of a row of ``messages`` that is joined with its author's *person_kind*.

    A kind that this version does not know is unsupported, whichever version stored it.
    """
    kind, content = row["kind"], PLAIN if row["content"] is None else read_content(row["content"])
    if kind and kind not in _KINDS:
        kind, content = MessageKind.UNSUPPORTED, replace(content, unsupported=content.unsupported or kind)
    return StoredContent(
        kind=kind,
        content=content,
        counts=NO_COUNTS if row["counts"] is None else read_counts(row["counts"]),
        counted_at=row["counted_at"],
        author=row["author"],
        author_id=row["author_id"],
        automatic=row["automatic"],
        person_kind=PersonKind(row["person_kind"]) if row["person_kind"] in _PERSON_KINDS else None,
        reply_to=row["reply_to"],
        answered=answered,
        raw=_raw(row),
    )


def _raw(row: asyncpg.Record | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the platform sent, if it was requested; rows of earlier versions have it in another column.

    It is kept as it came, so halves of characters are replaced here: no answer could be encoded with them.
    """
    if not row["with_raw"]:
        return None
    raw: Mapping[str, Any] = storable_json(unpack(row["raw"])) if row["raw"] is not None else row["extra"] or {}
    return raw


def content_fields(one: StoredContent, *, hidden: bool, quote_hidden: bool) -> ContentFields:
    """The fields of a message; of a *hidden* one, whose text may not be seen, only numbers and its author.

    *quote_hidden* says the same of the message that it answers: what it quotes of that may not be seen.
    """
    content = PLAIN if hidden else one.content
    return ContentFields(
        kind=one.kind,
        fields=PARTIAL if one.is_partial else COMPLETE,
        formatting=_spans(content.formatting),
        forwarded_from=None if content.forward is None else _forward(content.forward),
        reply=None if hidden else _reply(one, content.reply, quote_hidden=quote_hidden),
        poll=None if content.poll is None else _poll(content.poll, one.counts),
        embeds=[_embed(embed) for embed in content.embeds],
        preview=content.preview,
        service_text=content.service,
        details=dict(content.details or {}),
        mentions=dict(content.mentions or {}),
        texts=list(content.texts),
        marks=list(content.marks),
        via=content.via,
        expires_at=instant(content.expires_at),
        unsupported=content.unsupported,
        views=one.counts.views,
        forwards=one.counts.forwards,
        replies=one.counts.replies,
        as_of=instant(one.counted_at),
        person=_author(one),
        raw=None if hidden or one.raw is None else dict(one.raw),
    )


def _author(one: StoredContent) -> MessageAuthor | None:
    if one.author_id is None and not one.author:
        return None
    kind = one.author_kind
    return MessageAuthor(id=one.author_id, name=one.author, bot=one.automatic or kind in _BOTS, kind=kind)


def _spans(spans: Sequence[TextSpan]) -> list[FormattingSpan]:
    return [FormattingSpan(kind=one.kind, start=one.start, end=one.end, target=one.target) for one in spans]


def _forward(one: Forward) -> ForwardOrigin:
    embeds = [_embed(embed) for embed in one.embeds]
    return document_of(ForwardOrigin, one, at=instant(one.at), embeds=embeds, files=list(one.files))


def _reply(one: StoredContent, more: Reply | None, *, quote_hidden: bool) -> ReplyTarget | None:
    """What is answered: a message of the same channel, or what the platform says beyond that."""
    if more is None and one.reply_to is None:
        return None
    more = more or Reply()
    return ReplyTarget(
        message=one.reply_to if more.message is None else more.message,
        channel=more.channel,
        author=more.author or (one.answered or "" if more.channel is None else ""),
        quote="" if quote_hidden else more.quote,
        formatting=[] if quote_hidden else _spans(more.formatting),
        story=more.story,
        item=more.item,
        gone=more.gone,
    )


def _poll(one: Poll, counts: MessageCounts) -> PollShown:
    votes = counts.votes or {}
    answers = [document_of(PollAnswerShown, answer, votes=votes.get(answer.key)) for answer in one.answers]
    return document_of(PollShown, one, answers=answers, closes_at=instant(one.closes_at), voters=counts.voters)


def _embed(one: Embed) -> EmbedShown:
    fields = [EmbedField(name=name, value=value) for name, value in one.fields]
    return document_of(EmbedShown, one, at=instant(one.at), fields=fields, media=list(one.media))


def content_object(one: StoredContent, *, hidden: bool, quote_hidden: bool) -> dict[str, Any]:
    """``content_fields`` as an object of JSON; of a plain text it is made five times as fast, and most are."""
    if one.content is not PLAIN or one.counts is not NO_COUNTS or one.reply_to is not None:
        found: dict[str, Any] = plain(content_fields(one, hidden=hidden, quote_hidden=quote_hidden))
        return found
    return {
        **_PLAIN_OBJECT,
        "kind": one.kind,
        "fields": PARTIAL if one.is_partial else COMPLETE,
        "as_of": instant(one.counted_at),
        "person": plain(_author(one)),
    }


def plain(value: Any) -> Any:
    """Documents as objects and lists that any encoder of JSON takes."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    names = getattr(value, "__dataclass_fields__", None)
    return value if names is None else {name: plain(getattr(value, name)) for name in names}


_PLAIN_OBJECT = plain(
    content_fields(
        StoredContent(
            kind="", content=PLAIN, counts=NO_COUNTS, counted_at=None, author="", author_id=None, automatic=False,
            person_kind=None, reply_to=None, answered=None, raw=None,
        ),
        hidden=False,
        quote_hidden=False,
    )
)  # fmt: skip
