"""What a client can do, each ability a small protocol of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from tidegate.port.news import Difference, Hint, TooLong
from tidegate.port.values import (
    ChannelId,
    ChannelPage,
    Cursor,
    Enclosure,
    FileHandle,
    FileKind,
    FilePage,
    GuildId,
    GuildPage,
    Head,
    Me,
    Message,
    MessageId,
    Page,
    Receipt,
    SendKey,
    Topic,
    TopicId,
    TopicPage,
    Upload,
)
from tidegate.words import Account


class Client(Protocol):
    """A connected account. ``close`` may be called at any time and more than once."""

    async def close(self) -> None: ...


@runtime_checkable
class Gates(Protocol):
    """Can say for many channels at once whether anything changed. A channel missing from the answer is unknown."""

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]: ...


@runtime_checkable
class Reads(Protocol):
    """Can page through a channel's history, newest first, below *before* when it is given."""

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> Page: ...


@runtime_checkable
class ReadsUp(Protocol):
    """Can read upwards: the messages nearest above *after*, listed newest first as on every page."""

    async def page_after(self, channel: ChannelId, *, after: MessageId) -> Page: ...


@runtime_checkable
class Guilds(Protocol):
    """Has guilds: one call tells all channels of one with their heads, another all its threads that are active.

    Archived threads are listed by parent, the last archived first, those open to all apart from the private ones;
    ``Refused`` says that the account may not list those, ``CannotAsk`` that there can be none.
    """

    async def guilds(self, after: Cursor | None) -> GuildPage: ...
    async def guild_channels(self, guild: GuildId) -> Mapping[ChannelId, Head]: ...
    async def guild_threads(self, guild: GuildId) -> Mapping[ChannelId, Head]: ...
    async def archived_threads(self, parent: ChannelId, *, private: bool, after: Cursor | None) -> ChannelPage: ...
    def known_guilds(self) -> Sequence[GuildId]: ...


@runtime_checkable
class Tells(Protocol):
    """Has been told by the platform where every channel stands, without a call; None while that is not certain."""

    def told(self) -> Mapping[ChannelId, Head] | None: ...


@runtime_checkable
class Lists(Protocol):
    """Can list the channels the account sees, and say who the account is."""

    async def channels(self, after: Cursor | None) -> ChannelPage: ...
    async def me(self) -> Me: ...


@runtime_checkable
class KnowsItself(Protocol):
    """Was told who the account is when it connected, which costs no call of its own."""

    @property
    def signed_in_as(self) -> Me: ...


@runtime_checkable
class SignsOut(Protocol):
    """Can end the account's sign-in at the platform, after which nothing more can be asked with it."""

    async def sign_out(self) -> None: ...


@runtime_checkable
class Forums(Protocol):
    """Has channels with topics: can list them, and tell of up to 100 known ones at once."""

    async def topics(self, channel: ChannelId, after: Cursor | None) -> TopicPage: ...
    async def topics_by_id(self, channel: ChannelId, topics: Sequence[TopicId]) -> Mapping[TopicId, Topic]: ...


@runtime_checkable
class Differs(Protocol):
    """Can tell what changed in a channel since a value of its counter of changes."""

    async def difference(self, channel: ChannelId, *, since: int) -> Difference | TooLong: ...


@runtime_checkable
class Searches(Protocol):
    """Can search a channel, or one topic of it, for files below *before* and above *above*, newest first."""

    async def files(
        self,
        channel: ChannelId,
        *,
        kind: FileKind,
        before: MessageId | None,
        above: MessageId | None,
        topic: TopicId | None,
    ) -> FilePage: ...


@runtime_checkable
class Recalls(Protocol):
    """Can fetch up to 100 messages by number: None for one that is gone, nothing for one it does not speak of."""

    async def messages(self, channel: ChannelId, ids: Sequence[MessageId]) -> Mapping[MessageId, Message | None]: ...


@runtime_checkable
class Files(Protocol):
    """Can read a stretch of a file; the file's end cuts it short.

    *offset* and *length* are multiples of 1 KiB, and no stretch reaches over a multiple of 1 MiB.
    """

    async def read_file(self, handle: FileHandle, *, offset: int, length: int) -> bytes: ...


@runtime_checkable
class Sends(Protocol):
    """Can post a text. *key* stays the same when the same send is repeated."""

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt: ...


@runtime_checkable
class SendsFiles(Protocol):
    """Can take a file in parts, post it, or post one that the platform already has."""

    async def save_part(self, upload: Upload, part: int, content: bytes) -> None: ...
    async def send_file(
        self, channel: ChannelId, upload: Upload, *, caption: str, topic: TopicId | None, key: SendKey
    ) -> Receipt: ...
    async def copy_file(
        self, channel: ChannelId, handle: FileHandle, *, caption: str, topic: TopicId | None, key: SendKey
    ) -> Receipt: ...


@runtime_checkable
class Encloses(Protocol):
    """Can post a text together with files, all in one call; *key* stays the same when the send is repeated."""

    async def send_with(
        self, channel: ChannelId, text: str, enclosures: Sequence[Enclosure], *, key: SendKey
    ) -> Receipt: ...


@runtime_checkable
class Hints(Protocol):
    """Is told by the platform when something changes; waits for the next hint."""

    async def hint(self) -> Hint: ...


@runtime_checkable
class Buckets(Protocol):
    """Knows which of the platform's own rate-limit buckets a call falls into, before it is made.

    Without this ability a wait for a bucket pauses the whole method that was told to wait.
    """

    def bucket(self, method: str, channel: ChannelId | None) -> str: ...


@runtime_checkable
class Meters(Protocol):
    """Knows from the platform's own meter for how long a call would be refused, before it is made; 0 when it may go."""

    def refused_for(self, method: str, channel: ChannelId | None) -> float: ...


@runtime_checkable
class NamesMethods(Protocol):
    """Knows the platform's name of the call behind a verb, so that the ledger counts as the platform does."""

    def method(self, verb: str) -> str: ...


@runtime_checkable
class LooksLast(Protocol):
    """Asks ``last_look`` right before the bytes of a call leave, and makes no call when that raises.

    The lane looks before every call as well; the less there is between the last look and the wire, the less a process
    that is frozen just there can still send when it thaws.
    """

    last_look: Callable[[], object]


class Vault(Protocol):
    """Where an adapter keeps its sign-in: encrypted at rest, bound to its account."""

    async def read(self, name: str) -> bytes | None: ...
    async def write(self, name: str, secret: bytes) -> None: ...


NoteConnect = Callable[[str], None]
"""Counts a call a library makes by itself to connect, sign in or stay alive; the argument is its method."""

Accept = Callable[[Me], Awaitable[None]]
"""Refuses with ``BadInput`` whoever is not meant, before their sign-in is kept; a session that was begun is ended."""


async def anybody(_: Me) -> None:
    """Takes whoever signs in (``Accept``)."""


Opener = Callable[[Account, Vault, NoteConnect], Awaitable[Client]]
"""Connects an account. Raises ``SignedOut`` or ``Banned`` where a person has to act, others where a new try may do.

Cancelled half-way it closes what it opened: the account may be connected elsewhere the moment after.
"""
