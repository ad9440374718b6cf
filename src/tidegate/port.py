"""What a platform can be asked.

An adapter implements ``Client`` and, of the abilities below, those its platform has. Lanes offer the same verbs;
nothing above a lane sees a client. Adapters translate every failure into the classes of ``tidegate.errors``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NewType, Protocol, runtime_checkable

from tidegate.words import Account

ChannelId = NewType("ChannelId", int)  # the platform's own number of a channel
MessageId = NewType("MessageId", int)  # the platform's own number of a message, ordered within its channel
SendKey = NewType("SendKey", str)  # what a platform that removes duplicates recognises a repeated send by


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the platform shows it."""

    id: MessageId
    at: datetime
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of a channel's history.

    ``reached_start`` is the platform's word that nothing older exists; an empty page alone says nothing.
    """

    messages: Sequence[Message]
    reached_start: bool


@dataclass(frozen=True, slots=True)
class Head:
    """A channel's newest message and the platform's own counter of changes, where it has one."""

    newest: MessageId | None
    changes: int | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform's word that it accepted a message."""

    message: MessageId
    at: datetime


class Client(Protocol):
    """A connected account. ``close`` may be called at any time and more than once."""

    async def close(self) -> None: ...


@runtime_checkable
class Gates(Protocol):
    """Can say for many channels at once whether anything changed."""

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]: ...


@runtime_checkable
class Reads(Protocol):
    """Can page through a channel's history, newest first, below *before* when it is given."""

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> Page: ...


@runtime_checkable
class Sends(Protocol):
    """Can post a text. *key* stays the same when the same send is repeated."""

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt: ...


@runtime_checkable
class Buckets(Protocol):
    """Knows which of the platform's own rate-limit buckets a call falls into, before it is made.

    Without this ability a wait for a bucket pauses the whole method that was told to wait.
    """

    def bucket(self, method: str, channel: ChannelId | None) -> str: ...


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

Opener = Callable[[Account, Vault, NoteConnect], Awaitable[Client]]
"""Connects an account. Raises ``SignedOut`` or ``Banned`` where a person has to act, others where a new try may do.

Cancelled half-way it closes what it opened: the account may be connected elsewhere the moment after.
"""
