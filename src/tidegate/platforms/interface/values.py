"""Values between a platform and the rest of Tidegate: ids, messages, pages, files, receipts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from tidegate.core.errors import ChannelGone, Refused
from tidegate.core.ids import AlbumId, ChannelId, FileId, GuildId, MessageId, TopicId, UploadId, UserId
from tidegate.core.message_content import NO_COUNTS, PLAIN, Avatar, MessageContent, MessageCounts, MessageKind, Person

SendKey = NewType("SendKey", str)  # the key by which a platform that removes duplicates recognises a repeated send
FileHandle = NewType("FileHandle", str)  # one account's reference to read a file; it expires
Cursor = NewType("Cursor", str)  # where a listing continues, in the adapter's own format

GENERAL = TopicId(1)


class ChannelDeleted(ChannelGone):
    """The channel no longer exists for any account; what is stored about it stays."""


class UnknownChannel(ChannelGone):
    """The account does not know this channel, so no call was made; list the channels first."""


class CannotAsk(Refused):
    """The platform cannot answer this question, so no call was made."""


NOT_ASKED = (UnknownChannel, CannotAsk)
"""What is raised without a call; no call is counted for it."""


class HandleExpired(Refused):
    """The handle of a file is no longer valid: fetch its message again for a new one, and continue there."""


class UploadLost(Refused):
    """The platform no longer has all parts of an upload: start again, under another number."""


class SourceProtected(Refused):
    """Nothing may be copied out of the channel of a file; the file may still be read and uploaded."""


class MayNotPost(Refused):
    """The channel exists, but the account may not write in it; a person has to permit it."""


# Reading


class FileKind(StrEnum):
    """How the platform shows a file; only documents are found by a search for documents."""

    DOCUMENT = "document"
    PHOTO = "photo"
    MEDIA = "media"  # video, audio, voice, sticker or moving picture


class FileForm(StrEnum):
    """What a file is to the reader of a message."""

    IMAGE = "image"
    STICKER = "sticker"
    ANIMATION = "animation"
    VIDEO = "video"
    ROUND_VIDEO = "round video"
    AUDIO = "audio"
    VOICE = "voice"
    FILE = "file"


class FileRole(StrEnum):
    """Where in its message a file is; only its own files are parts of archives and are found by a search."""

    OWN = "own"
    COVER = "cover"  # of a video, or another form of it
    PREVIEW = "preview"  # of a linked page
    EMBED = "embed"
    COMPONENT = "component"
    FORWARD = "forward"
    STICKER = "sticker"
    EMOJI = "emoji"  # of the text
    REACTION = "reaction"
    POLL = "poll"
    STORY = "story"
    REPLY = "reply"
    GAME = "game"
    INVOICE = "invoice"
    RICH = "rich"
    SERVICE = "service"  # of what the platform announces, such as a new picture of the group


@dataclass(frozen=True, slots=True)
class PhotoSize:
    """A photo in one of the sizes that the platform keeps of it."""

    size: int
    handle: FileHandle


@dataclass(frozen=True, slots=True)
class File:
    """A file as its message announces it.

    For a photo this is the largest size, and *picture* a medium one, where there are several. For any other file
    *picture* is the platform's small picture of it.
    """

    id: FileId
    name: str  # chosen by the sender, so untrusted; may be empty
    size: int
    mime: str
    kind: FileKind
    handle: FileHandle
    picture: PhotoSize | None = None
    form: FileForm = FileForm.FILE
    role: FileRole = FileRole.OWN
    fleeting: bool = False  # it destroys itself once it was seen
    valid_until: datetime | None = None  # how long the handle is valid, where the platform says so


@dataclass(frozen=True, slots=True)
class FileStep:
    """One call towards a range of a file: its bytes, or None where another step comes before them."""

    verb: str
    call: Callable[[], Awaitable[bytes | None]]


@dataclass(frozen=True, slots=True)
class TopicEvent:
    """What a service message says about its topic; None for a field that it does not mention."""

    created: bool  # otherwise the topic was changed
    title: str | None = None
    closed: bool | None = None
    hidden: bool | None = None


@dataclass(frozen=True, slots=True)
class Reaction:
    """How many people reacted with one emoji; a guild's own emoji is ``name:number``."""

    emoji: str
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the platform shows it.

    *raw* is what the platform sent that has no field of its own here, without what depends on the account or the time:
    access hashes, file references, signatures of links. *hidden_edit_at* is the time of a change that the platform does
    not show as an edit; it only decides which of two versions is the later one. A message that *is_partial* was read
    from a row of an earlier release: it lacks what that release did not store.
    """

    id: MessageId
    at: datetime
    author: str
    text: str
    topic: TopicId | None = None
    edited_at: datetime | None = None
    reply_to: MessageId | None = None
    album: AlbumId | None = None  # shared by messages that were posted as one
    protected: bool = False
    files: Sequence[File] = ()
    further_files: Sequence[File] = ()  # those of previews, polls, stories and forwards in it
    topic_event: TopicEvent | None = None
    author_id: UserId | None = None
    automatic: bool = False  # a bot or a webhook wrote it
    service: str = ""  # the platform's name of what it announces itself, such as a join
    thread: ChannelId | None = None  # the thread under it
    reactions: Sequence[Reaction] = ()
    kind: MessageKind = MessageKind.TEXT
    content: MessageContent = PLAIN
    counts: MessageCounts = NO_COUNTS
    raw: Mapping[str, Any] = field(default_factory=dict)
    person: Person | None = None
    hidden_edit_at: datetime | None = None
    is_partial: bool = False
    moved_to: ChannelId | None = None  # it announces that its small group became this large one


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One answer of a channel's history.

    ``reached_start`` means the platform said that nothing older exists, ``reached_head`` that nothing newer did when it
    answered. An empty page alone proves nothing. Without ``may_read`` the permission to read history is not proven, and
    an empty page may be a refusal.
    """

    messages: Sequence[Message]
    reached_start: bool
    reached_head: bool = False
    limit: int = 100  # how many messages were requested
    may_read: bool = True
    total: int | None = None  # the platform's count of messages in the whole channel, where it gives one
    threads: Mapping[ChannelId, Head] = field(default_factory=dict)  # of the threads under these messages


@dataclass(frozen=True, slots=True)
class FileSearch:
    """Which files to find: of one *kind*, below *before* and above *above*, in one *topic* or the whole channel."""

    kind: FileKind = FileKind.DOCUMENT
    before: MessageId | None = None
    above: MessageId | None = None
    topic: TopicId | None = None


@dataclass(frozen=True, slots=True)
class FilePage:
    """One answer of a search for files, newest first. A short page is not the end: *ended* says when it is."""

    messages: Sequence[Message]
    ended: bool
    total: int | None = None  # how many files the platform counts in all, where it says so


class ChannelKind(StrEnum):
    """What a channel is to its platform; a board has no messages of its own, only threads."""

    CHANNEL = "channel"
    ANNOUNCEMENT = "announcement"
    VOICE = "voice"
    BOARD = "board"  # Discord's forum and media channels
    THREAD = "thread"
    PRIVATE_CHAT = "private chat"
    GROUP = "group"  # a small group of Telegram, whose messages are numbered by account


PRIVATE_KINDS = (ChannelKind.PRIVATE_CHAT, ChannelKind.GROUP)
"""Chats that belong to one account: mirrored on request only, and outside "all channels"."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as the account sees it."""

    id: ChannelId
    title: str
    forum: bool = False
    protected: bool = False  # its messages cannot be copied on the server
    may_post: bool = False
    kind: ChannelKind = ChannelKind.CHANNEL
    guild: GuildId | None = None
    parent: ChannelId | None = None  # the channel a thread belongs to
    visible: bool = True  # the permission to see it
    readable: bool = True  # the proven permission to read its history
    archived: bool = False  # a thread that is inactive until a message is posted
    private: bool = False  # a thread that only its members see
    largest_file: int | None = None  # the maximum size in bytes of a file posted there, where known
    description: str = ""  # chosen by its owner, so untrusted
    server: str = ""  # the name of its guild, where known; untrusted as well
    avatar: Avatar | None = None  # of a server's channels that of the server
    moved_to: ChannelId | None = None  # the large group that a small one became

    @property
    def is_private_chat(self) -> bool:
        """Whether it belongs to the account that sees it."""
        return self.kind in PRIVATE_KINDS


@dataclass(frozen=True, slots=True)
class Head:
    """A channel's newest message and the platform's own change counter, where it has one."""

    newest: MessageId | None  # it may be deleted by now; for a board it is the newest thread's number
    changes: int | None
    channel: Channel | None = None  # what the same answer said about the channel itself
    messages: int | None = None  # of a thread: how many it has now
    posted: int | None = None  # of a thread: how many were ever posted


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
    """One topic of a forum. Of a deleted topic (*gone*) only its number is known."""

    id: TopicId
    title: str = ""
    newest: MessageId | None = None
    pinned: bool = False
    closed: bool = False
    hidden: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True)
class TopicPage:
    """Some topics of a forum, in the platform's order; the list changes while it is read, so one may appear twice."""

    topics: Sequence[Topic]
    next: Cursor | None


# Sending


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform's confirmation that it accepted a message; empty when it said that it had this send already."""

    message: MessageId | None
    at: datetime | None
    name: str | None = None  # what receipts call the message on a platform without message numbers


@dataclass(frozen=True, slots=True)
class Upload:
    """A file being uploaded, in parts of equal size except the last."""

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
    """A file whose bytes are sent together with a message."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Me:
    """Who the account is on its platform."""

    id: UserId
    name: str
    premium: bool = False  # it may send larger files
