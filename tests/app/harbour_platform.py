"""A platform that nobody but a test has: one in-memory board of channels, posted to by the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.core.account import Account
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.platform import MessageAddress, Platform
from tidegate.platforms.interface import (
    Channel,
    ChannelPage,
    Cursor,
    Head,
    HistoryPage,
    Me,
    Message,
    NoteConnect,
    SignInAttempt,
    SignInPrompts,
    Vault,
)

PAGE = 3


def _message_link(at: MessageAddress) -> str:
    return f"https://harbour.example/{at.channel}/{at.message}"


HARBOUR = Platform(
    "harbour",
    brand="Harbour",
    sign_in_needs="the word of the day",
    can_be_mirrored=True,
    reads_per_second=1_000.0,
    reads_at_once=2,
    message_link=_message_link,
)

HARBOUR_WITH_TABLES = Platform(
    "harbour",
    brand="Harbour",
    sign_in_needs="the word of the day",
    can_be_mirrored=True,
    reads_per_second=1_000.0,
    reads_at_once=2,
    library_schema="harbour",
)


@dataclass
class HarbourBoard:
    """The platform itself, and the adapter and the client that reach it (``PlatformAdapter``, ``PlatformClient``)."""

    posts: dict[ChannelId, list[Message]] = field(default_factory=dict)

    def post(self, channel: int, text: str) -> None:
        kept = self.posts.setdefault(ChannelId(channel), [])
        kept.append(Message(MessageId(len(kept) + 1), SystemClock().now(), "keeper", text))

    async def connect(self, account: Account, vault: Vault, note_connect: NoteConnect) -> HarbourBoard:
        assert await vault.read("word") == b"ahoy"
        return self

    async def sign_in(self, attempt: SignInAttempt, prompts: SignInPrompts) -> Me:
        await attempt.vault.write("word", (await prompts.token()).encode())
        await attempt.accept(await self.me())
        return await self.me()

    async def forget(self, account: Account, vault: Vault) -> None:
        """Nothing is kept outside the vault."""

    async def me(self) -> Me:
        return Me(id=7, name="keeper")

    async def channels(self, after: Cursor | None) -> ChannelPage:
        return ChannelPage(await self.heads(list(self.posts)), next=None)

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]:
        return {one: Head(self.posts[one][-1].id, None, Channel(one, f"Quay {one}")) for one in channels}

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> HistoryPage:
        older = [one for one in reversed(self.posts[channel]) if before is None or one.id < before]
        return HistoryPage(older[:PAGE], reached_start=len(older) <= PAGE, limit=PAGE)

    async def close(self) -> None:
        pass
