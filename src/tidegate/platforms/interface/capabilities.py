"""The abilities of a client, each one a small protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from tidegate.core.account import Account
from tidegate.core.ids import ChannelId, FileId, GuildId, MessageId, TopicId, UserId
from tidegate.platforms.interface.updates import (
    BoxDifference,
    BoxState,
    BoxTooLong,
    Difference,
    TooLong,
    UpdateHint,
)
from tidegate.platforms.interface.values import (
    ChannelPage,
    Cursor,
    Enclosure,
    File,
    FileHandle,
    FilePage,
    FileSearch,
    FileStep,
    GuildPage,
    Head,
    HistoryPage,
    Me,
    Message,
    Receipt,
    SendKey,
    Topic,
    TopicPage,
    Upload,
)


class PlatformClient(Protocol):
    """A connected account. ``close`` may be called at any time and more than once."""

    async def close(self) -> None: ...


A = TypeVar("A")


def ability_of(client: PlatformClient, ability: type[A]) -> A | None:
    """*client* where it has that *ability*, one of the protocols below; else None."""
    return client if isinstance(client, ability) else None


@runtime_checkable
class Gates(Protocol):
    """Can report for many channels at once whether anything changed. A channel missing from the answer is unknown."""

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]: ...


@runtime_checkable
class Reads(Protocol):
    """Can page through a channel's history, newest first, below *before* when it is given."""

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> HistoryPage: ...


@runtime_checkable
class ReadsUp(Protocol):
    """Can read upwards: the messages nearest above *after*, listed newest first as on every page."""

    async def page_after(self, channel: ChannelId, *, after: MessageId) -> HistoryPage: ...


@runtime_checkable
class Guilds(Protocol):
    """Has guilds: one call lists all channels of a guild with their heads, another all its active threads.

    Archived threads are listed by parent, the last archived first; public and private ones are separate lists.
    ``Refused`` means that the account may not list them, ``CannotAsk`` that there can be none.
    """

    async def guilds(self, after: Cursor | None) -> GuildPage: ...
    async def guild_channels(self, guild: GuildId) -> Mapping[ChannelId, Head]: ...
    async def guild_threads(self, guild: GuildId) -> Mapping[ChannelId, Head]: ...
    async def archived_threads(self, parent: ChannelId, *, private: bool, after: Cursor | None) -> ChannelPage: ...
    def known_guilds(self) -> Sequence[GuildId]: ...


@runtime_checkable
class FindsChats(Protocol):
    """Has private chats that are in no list: each is asked for by its number or its person's, one call for each."""

    async def chat_head(self, channel: ChannelId) -> Head: ...
    async def open_chat(self, person: UserId) -> tuple[ChannelId, Head]: ...


@runtime_checkable
class KnowsHeads(Protocol):
    """Knows the head of every channel from push updates, without a call; None while that may be out of date."""

    def known_heads(self) -> Mapping[ChannelId, Head] | None: ...


@runtime_checkable
class Lists(Protocol):
    """Can list the channels the account sees, and say who the account is."""

    async def channels(self, after: Cursor | None) -> ChannelPage: ...
    async def me(self) -> Me: ...


@runtime_checkable
class KnowsItself(Protocol):
    """Knows who the account is from connecting, without a further call."""

    @property
    def signed_in_as(self) -> Me: ...


@runtime_checkable
class SignsOut(Protocol):
    """Can end the account's sign-in at the platform, after which no call is possible."""

    async def sign_out(self) -> None: ...


@runtime_checkable
class Forums(Protocol):
    """Has channels with topics: can list them, and fetch up to 100 known ones at once."""

    async def topics(self, channel: ChannelId, after: Cursor | None) -> TopicPage: ...
    async def topics_by_id(self, channel: ChannelId, topics: Sequence[TopicId]) -> Mapping[TopicId, Topic]: ...


@runtime_checkable
class Differs(Protocol):
    """Can list what changed in a channel since a value of its change counter."""

    async def difference(self, channel: ChannelId, *, since: int) -> Difference | TooLong: ...


@runtime_checkable
class HasBox(Protocol):
    """Has private chats that share one message box, with one counter of changes for all of them.

    ``known_box`` is that counter as push updates reported it, without a call; None while that may be out of date.
    """

    async def box_state(self) -> BoxState: ...
    async def box_difference(self, since: BoxState) -> BoxDifference | BoxTooLong: ...
    def known_box(self) -> int | None: ...
    def is_in_box(self, channel: ChannelId) -> bool: ...


@runtime_checkable
class Searches(Protocol):
    """Can search a channel for files, newest first."""

    async def files(self, channel: ChannelId, search: FileSearch) -> FilePage: ...


@runtime_checkable
class Recalls(Protocol):
    """Can fetch up to 100 messages by number: None for a deleted one, no entry for an unknown one."""

    async def messages(self, channel: ChannelId, ids: Sequence[MessageId]) -> Mapping[MessageId, Message | None]: ...


@runtime_checkable
class Describes(Protocol):
    """Has to be asked for the description of a channel, one channel a call; elsewhere it comes with the channel."""

    async def description(self, channel: ChannelId) -> str: ...


@runtime_checkable
class Files(Protocol):
    """Can read a range of a file; the range is cut at the end of the file.

    *offset* and *length* are multiples of 1 KiB, and no range crosses a multiple of 1 MiB. None means that the platform
    wants another call first, which is made by asking for the same again.
    """

    async def read_file(self, handle: FileHandle, *, offset: int, length: int) -> bytes | None: ...


@runtime_checkable
class ReadsInSteps(Protocol):
    """Reads some files by several calls of different methods."""

    def file_step(self, handle: FileHandle, *, offset: int, length: int) -> FileStep:
        """The call that ``read_file`` would make now, and its verb."""
        ...


@runtime_checkable
class NamesEmoji(Protocol):
    """Messages name custom emoji by number: their files have to be asked for, up to 200 a call."""

    async def emoji_files(self, numbers: Sequence[FileId]) -> Mapping[FileId, File]: ...


@runtime_checkable
class Sends(Protocol):
    """Can post a text. *key* stays the same when the same send is repeated."""

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt: ...


@runtime_checkable
class SendsFiles(Protocol):
    """Can take a file in parts, post it, or post one that the platform already has."""

    async def save_part(self, upload: Upload, part: int, content: bytes) -> None: ...
    async def send_file(self, channel: ChannelId, upload: Upload, *, key: SendKey) -> Receipt: ...
    async def copy_file(self, channel: ChannelId, handle: FileHandle, *, key: SendKey) -> Receipt: ...


@runtime_checkable
class Encloses(Protocol):
    """Can post a text together with files, all in one call; *key* stays the same when the send is repeated."""

    async def send_with(
        self, channel: ChannelId, text: str, enclosures: Sequence[Enclosure], *, key: SendKey
    ) -> Receipt: ...


@runtime_checkable
class Hints(Protocol):
    """Gets push updates when something changes; waits for some and takes up to *most*, oldest first.

    The client queues updates until they are taken. When there are too many, it replaces them by hints to check the
    channels.
    """

    async def hints(self, *, most: int) -> Sequence[UpdateHint]: ...


@runtime_checkable
class Buckets(Protocol):
    """Knows which of the platform's own rate-limit buckets a call uses, before it is made.

    Without this ability, a rate limit of a bucket pauses the whole method.
    """

    def bucket(self, method: str, channel: ChannelId | None) -> str: ...


@runtime_checkable
class KnowsWaits(Protocol):
    """Knows from the platform's rate-limit data how long a call would be refused; 0 when it may be made."""

    def refused_for(self, method: str, channel: ChannelId | None) -> float: ...


@runtime_checkable
class NamesMethods(Protocol):
    """Knows the platform's name of the call behind a verb, so that the call log counts as the platform does."""

    def method(self, verb: str) -> str: ...


@runtime_checkable
class ChecksBeforeSend(Protocol):
    """Calls ``pre_send_check`` right before the bytes of a call are sent, and makes no call when that raises.

    The lane checks before every call as well. A process may be frozen between that check and the network write. The
    later the last check, the less such a process can still send when it continues.
    """

    pre_send_check: Callable[[], object]


@runtime_checkable
class ReportsConnection(Protocol):
    """Calls ``connection_changed`` with a sentence when the connection is lost, and with None once it is back."""

    connection_changed: Callable[[str | None], object]


class Vault(Protocol):
    """Where an adapter stores its sign-in: encrypted at rest, bound to its account."""

    async def read(self, name: str) -> bytes | None: ...
    async def write(self, name: str, secret: bytes) -> None: ...


NoteConnect = Callable[[str], None]
"""Counts a call that a library makes on its own to connect, sign in or stay alive; the argument is its method."""

Accept = Callable[[Me], Awaitable[None]]
"""Refuses an unexpected account with ``BadInput`` before the sign-in is stored; a session that was begun is ended."""


async def anybody(_: Me) -> None:
    """Accepts any account (``Accept``)."""


Opener = Callable[[Account, Vault, NoteConnect], Awaitable[PlatformClient]]
"""Connects an account. Raises ``SignedOut`` or ``Banned`` when a person has to act, other errors when a retry may help.

When cancelled, it closes what it opened: another worker may connect the account right after.
"""
