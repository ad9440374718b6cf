"""What travels between a platform and the house: numbers, messages, pages, files, receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from tidegate.errors import ChannelGone, Refused

ChannelId = NewType("ChannelId", int)  # the platform's own number of a channel
MessageId = NewType("MessageId", int)  # the platform's own number of a message, ordered within its channel
TopicId = NewType("TopicId", int)  # the number of a topic within its forum; General is 1
SendKey = NewType("SendKey", str)  # what a platform that removes duplicates recognises a repeated send by
FileId = NewType("FileId", int)  # the platform's own number of a file; a file posted twice may keep it
FileHandle = NewType("FileHandle", str)  # what one account reads a file by; it expires, and is of no use to another
UploadId = NewType("UploadId", int)  # our number of an upload, chosen and stored before its first part
GuildId = NewType("GuildId", int)  # the platform's own number of a server that holds channels
Cursor = NewType("Cursor", str)  # where a listing goes on, in the adapter's own words

GENERAL = TopicId(1)


class ChannelDeleted(ChannelGone):
    """The channel no longer exists for anybody; what is stored of it stays."""


class UnknownChannel(ChannelGone):
    """The account was never told of this channel, so the platform was not asked; list the channels first."""


class CannotAsk(Refused):
    """The platform answers no such question, so it was not asked."""


NOT_ASKED = (UnknownChannel, CannotAsk)
"""What is raised without a call; no call is counted for it."""


class HandleExpired(Refused):
    """The handle of a file is no longer valid: fetch its message again for a new one, and go on where you were."""


class UploadLost(Refused):
    """The platform no longer has all parts of an upload: it begins anew, under another number."""


class MayNotPost(Refused):
    """The channel is there and the account may not write in it; a person has to let it."""


# What is read


class FileKind(StrEnum):
    """How the platform shows a file; only documents are found by a search for documents."""

    DOCUMENT = "document"
    PHOTO = "photo"
    MEDIA = "media"  # video, audio, voice, sticker or moving picture


@dataclass(frozen=True, slots=True)
class Picture:
    """A photo in one of the sizes that the platform keeps of it."""

    size: int
    handle: FileHandle


@dataclass(frozen=True, slots=True)
class File:
    """A file as its message announces it. *name* is a stranger's word, and empty where there is none.

    Of a photo this is the largest size, and *picture* one of the middle, where there are several.
    """

    id: FileId
    name: str
    size: int
    mime: str
    kind: FileKind
    handle: FileHandle
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class TopicEvent:
    """What a service message says of its topic; None means that it says nothing about it."""

    created: bool
    title: str | None = None
    closed: bool | None = None
    hidden: bool | None = None


@dataclass(frozen=True, slots=True)
class Reaction:
    """How many people answered a message with one sign; a sign of a guild's own is ``name:number``."""

    emoji: str
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the platform shows it. *album* is shared by messages that were posted as one.

    *service* names what the platform itself announces, such as a join, and is empty for what somebody wrote. *thread*
    is the one that hangs under the message. *extra* is, as JSON, all the platform said that has no field here.
    """

    id: MessageId
    at: datetime
    author: str
    text: str
    topic: TopicId | None = None
    edited_at: datetime | None = None
    reply_to: MessageId | None = None
    album: int | None = None
    protected: bool = False
    files: Sequence[File] = ()
    topic_event: TopicEvent | None = None
    author_id: int | None = None
    automatic: bool = False  # a bot or a webhook wrote it
    service: str = ""
    thread: ChannelId | None = None
    reactions: Sequence[Reaction] = ()
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of a channel's history.

    ``reached_start`` is the platform's word that nothing older exists, ``reached_head`` that nothing newer did when it
    answered; an empty page alone says nothing. Without ``may_read`` the right to read history is not proven, and an
    empty page may be a closed door. *limit* is how many messages were asked for.
    """

    messages: Sequence[Message]
    reached_start: bool
    reached_head: bool = False
    limit: int = 100
    may_read: bool = True


@dataclass(frozen=True, slots=True)
class FilePage:
    """One answer of a search for files, newest first. A short page is not the end: *ended* says when it is."""

    messages: Sequence[Message]
    ended: bool


class ChannelKind(StrEnum):
    """What a channel is to its platform; a board has no messages of its own, only threads."""

    CHANNEL = "channel"
    ANNOUNCEMENT = "announcement"
    VOICE = "voice"
    BOARD = "board"  # Discord's forum and media channels
    THREAD = "thread"
    PRIVATE_CHAT = "private chat"


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as the account sees it. What is *protected* cannot be copied on the server.

    *visible* is the right to be in it, *readable* the proven right to read its history. A thread's *parent* is the
    channel it hangs under; an *archived* one sleeps until somebody posts, a *private* one shows itself to its members.
    *largest_file* is how many bytes a file posted there may have, where the platform told it.
    """

    id: ChannelId
    title: str
    forum: bool = False
    protected: bool = False
    may_post: bool = False
    kind: ChannelKind = ChannelKind.CHANNEL
    guild: GuildId | None = None
    parent: ChannelId | None = None
    visible: bool = True
    readable: bool = True
    archived: bool = False
    private: bool = False
    largest_file: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """A channel's newest message and the platform's own counter of changes, where it has one.

    *channel* is what the same answer told of the channel itself. The newest message may be deleted by now; for a board
    it is the newest thread's number. Of threads *messages* is how many there are, *posted* how many there ever were.
    """

    newest: MessageId | None
    changes: int | None
    channel: Channel | None = None
    messages: int | None = None
    posted: int | None = None


@dataclass(frozen=True, slots=True)
class ChannelPage:
    """Some of the channels the account can see; *next* is None when these were the last."""

    heads: Mapping[ChannelId, Head]
    next: Cursor | None


@dataclass(frozen=True, slots=True)
class GuildPage:
    """Some of the guilds the account is in, by name; *next* is None when these were the last."""

    guilds: Mapping[GuildId, str]
    next: Cursor | None


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of a forum. Of a topic that is *gone* nothing but its number is known."""

    id: TopicId
    title: str = ""
    newest: MessageId | None = None
    pinned: bool = False
    closed: bool = False
    hidden: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True)
class TopicPage:
    """Some topics of a forum, in the platform's order; the list moves while it is read, so one may come twice."""

    topics: Sequence[Topic]
    next: Cursor | None


# What is sent


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform's word that it accepted a message.

    Both are None when it only said that it has accepted this very send before. *name* is what receipts call the message
    on a platform that does not number them.
    """

    message: MessageId | None
    at: datetime | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of ours on its way to the platform, in equal parts but for the last."""

    id: UploadId
    name: str
    size: int
    mime: str = "application/octet-stream"
    part_size: int = 512 * 1024

    @property
    def parts(self) -> int:
        return max(1, -(-self.size // self.part_size))

    @property
    def big(self) -> bool:
        """Platforms take files above 10 MiB by another call."""
        return self.size > 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file of ours whose bytes go along with a message."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Me:
    """Who the account is on its platform; a premium account may send larger files."""

    id: int
    name: str
    premium: bool = False
