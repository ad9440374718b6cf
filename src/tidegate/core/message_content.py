"""What a message holds beside its text and files, in one form for every platform.

All of it was written by the sender, so it is untrusted. A plain text has none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from tidegate.core.ids import ChannelId, FileId, MessageId, UserId


class MessageKind(StrEnum):
    """What a message is, by its most important content. *details* of its content say more where it is no text."""

    TEXT = "text"
    PHOTO = "photo"
    VIDEO = "video"
    ROUND_VIDEO = "round video"
    ANIMATION = "animation"
    VOICE = "voice"
    AUDIO = "audio"
    STICKER = "sticker"
    FILE = "file"
    POLL = "poll"
    CHECKLIST = "to-do list"
    CONTACT = "contact"
    LOCATION = "location"
    LIVE_LOCATION = "live location"
    VENUE = "venue"
    DICE = "dice"
    GAME = "game"
    INVOICE = "invoice"
    PAID_MEDIA = "paid media"
    GIVEAWAY = "giveaway"
    GIVEAWAY_RESULTS = "giveaway results"
    STORY = "story"
    LIVE_STREAM = "live stream"
    SERVICE = "service"  # announced by the platform itself, such as a join
    UNSUPPORTED = "unsupported"  # of a kind this version does not know: only what the platform sent is stored


class SpanKind(StrEnum):
    """How a stretch of a text is shown, or what it stands for."""

    BOLD = "bold"
    ITALIC = "italic"
    UNDERLINE = "underline"
    STRIKE = "strike"
    SPOILER = "spoiler"
    CODE = "code"
    CODE_BLOCK = "code block"
    QUOTE = "quote"
    HEADING = "heading"
    SMALL = "small"
    LINK = "link"
    EMAIL = "email"
    PHONE = "phone"
    MENTION = "mention"
    HASHTAG = "hashtag"
    CASHTAG = "cashtag"
    COMMAND = "command"
    BANK_CARD = "bank card"
    CUSTOM_EMOJI = "custom emoji"
    DATE = "date"
    INSERTED = "inserted"
    DELETED = "deleted"
    REPLACED = "replaced"
    UNSUPPORTED = "unsupported"  # a kind that this version does not know


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A formatted stretch of a text, from *start* up to but not including *end*, in characters (code points).

    *target* is a link's address, a code block's language, a heading's level, a custom emoji's number, a date's seconds
    since 1970, the text that was replaced, or the platform's name of a kind this version does not know. Of a mention it
    is the number of a person, that of a channel after ``#``, or that of a role after ``&``.
    """

    kind: SpanKind
    start: int
    end: int
    target: str = ""


class OriginKind(StrEnum):
    """Where a forwarded message comes from."""

    PERSON = "person"
    HIDDEN = "hidden"  # a person who is known by name only
    CHANNEL = "channel"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Embed:
    """A card beside a message. Addresses are shown as links and never loaded."""

    kind: str = ""  # such as video or article
    title: str = ""
    description: str = ""
    url: str = ""
    author: str = ""
    footer: str = ""
    provider: str = ""  # the site that it comes from
    at: datetime | None = None
    colour: int | None = None
    fields: tuple[tuple[str, str], ...] = ()
    media: tuple[str, ...] = ()  # addresses of its pictures and videos


@dataclass(frozen=True, slots=True)
class Forward:
    """Where a message was forwarded from; *text*, *embeds* and *files* where the platform keeps them apart."""

    kind: OriginKind
    name: str = ""
    id: int | None = None
    at: datetime | None = None
    message: MessageId | None = None  # its number in the channel it was first posted in
    signature: str = ""  # who signed the original post of a channel
    text: str = ""
    embeds: tuple[Embed, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a message answers, where that is more than a message of the same channel."""

    message: MessageId | None = None
    channel: ChannelId | None = None  # another chat
    author: str = ""
    quote: str = ""  # the quoted piece of the text
    formatting: tuple[TextSpan, ...] = ()
    story: int | None = None  # the number of a story
    gone: bool = False  # the platform no longer has the answered message
    item: str = ""  # the key of an answered poll answer or task


@dataclass(frozen=True, slots=True)
class PollAnswer:
    """One answer of a poll."""

    key: str  # what votes name it by
    text: str
    correct: bool | None = None  # of a quiz: whether it is right, if known


@dataclass(frozen=True, slots=True)
class Poll:
    """A question with answers; how often each was chosen is in ``MessageCounts``."""

    question: str
    answers: tuple[PollAnswer, ...]
    quiz: bool = False
    multiple: bool = False
    public: bool = False  # everyone sees who voted
    closed: bool = False
    closes_at: datetime | None = None
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class LinkPreview:
    """What the platform shows about a link in the text."""

    url: str
    site: str = ""
    title: str = ""
    description: str = ""
    author: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class MessageContent:
    """What a message holds beside its text and files.

    *details* are the fields of a kind that is no text, such as the phone number of a contact, by plain names.
    *mentions* are the names that mentions in the text stand for, at that time, by how the text writes them. *marks* are
    yes-or-no facts: "pinned", "silent", "spoiler", "anonymous", "sent by schedule".
    """

    formatting: tuple[TextSpan, ...] = ()
    forward: Forward | None = None
    reply: Reply | None = None
    poll: Poll | None = None
    preview: LinkPreview | None = None
    embeds: tuple[Embed, ...] = ()
    service: str = ""  # what the platform announced, in words
    details: Mapping[str, Any] | None = None
    mentions: Mapping[str, str] | None = None
    texts: tuple[str, ...] = ()  # further texts, such as those of buttons
    marks: tuple[str, ...] = ()
    via: str = ""  # the bot that it was sent through
    expires_at: datetime | None = None
    unsupported: str = ""  # a kind that this version does not know
    awaited_preview: str = ""  # the platform's number of a preview that it is still making


PLAIN = MessageContent()


class ExpiredMessages(StrEnum):
    """What becomes of messages that expired: they are marked as deleted, or everything in them is erased."""

    KEEP = "keep"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """Numbers that change without an edit; None where the platform gives none."""

    views: int | None = None
    forwards: int | None = None
    replies: int | None = None
    votes: Mapping[str, int] | None = None  # by the key of a poll's answer
    voters: int | None = None


NO_COUNTS = MessageCounts()


class PersonKind(StrEnum):
    """What an author is."""

    PERSON = "person"
    BOT = "bot"
    WEBHOOK = "webhook"
    CHANNEL = "channel"
    ANONYMOUS = "anonymous"  # an administrator who writes in the name of the group
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Avatar:
    """The picture that a person, channel or server has now."""

    owner: int  # the number of that person, channel or server
    file: FileId  # another one for another picture
    handle: str  # it belongs to no account and does not expire


@dataclass(frozen=True, slots=True)
class Person:
    """An author as the platform shows them now.

    *is_label* says that the name is not their own: the reading account has them among its contacts, under that name.
    """

    id: UserId
    name: str
    usernames: tuple[str, ...] = ()
    kind: PersonKind = PersonKind.PERSON
    is_label: bool = False
    avatar: Avatar | None = None
