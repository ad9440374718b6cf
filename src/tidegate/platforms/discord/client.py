"""A Discord bot's calls: each verb is one request, so that the lane counts what Discord counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from discord.http import Route

from tidegate.errors import ChannelGone, OutcomeUnknown, PlatformError, Refused
from tidegate.platforms.discord import posting, translate
from tidegate.platforms.discord.book import Book
from tidegate.platforms.discord.hearing import Hearing
from tidegate.platforms.discord.paging import next_archived
from tidegate.platforms.discord.proving import Proving
from tidegate.platforms.discord.rest import Rest, bucket_of
from tidegate.platforms.discord.rights import Json
from tidegate.port import (
    CannotAsk,
    ChannelDeleted,
    ChannelId,
    ChannelKind,
    ChannelPage,
    Cursor,
    Enclosure,
    GuildId,
    GuildPage,
    Head,
    Hint,
    Me,
    Message,
    MessageId,
    Page,
    Receipt,
    SendKey,
)

PAGE = 100
_GUILDS = 200

_MESSAGES = "/channels/{channel_id}/messages"
_ARCHIVED = "/channels/{channel_id}/threads/archived/"
_METHODS = {
    "guilds": "GET /users/@me/guilds",
    "guild_channels": "GET /guilds/{guild.id}/channels",
    "guild_threads": "GET /guilds/{guild.id}/threads/active",
    "archived_threads": "GET /channels/{channel.id}/threads/archived/public",
    "archived_private_threads": "GET /channels/{channel.id}/threads/archived/private",
    "page": "GET /channels/{channel.id}/messages",
    "page_after": "GET /channels/{channel.id}/messages",
    "messages": "GET /channels/{channel.id}/messages",
    "send": "POST /channels/{channel.id}/messages",
    "send_with": "POST /channels/{channel.id}/messages",
}
_HAS_NO_PRIVATE_THREADS = (ChannelKind.BOARD, ChannelKind.ANNOUNCEMENT, ChannelKind.VOICE)


class Ears(Protocol):
    """What listens to the gateway, where the account does."""

    async def hint(self) -> Hint: ...
    async def close(self) -> None: ...


class DiscordAccount:
    """One signed-in bot (``port.Client``, and of the abilities those of a platform with guilds)."""

    recognises_for: timedelta | None = timedelta(minutes=2)
    """Discord keeps a nonce "a few minutes"; one older than this is taken for forgotten."""

    def __init__(self, rest: Rest, hearing: Hearing, ears: Ears | None, me: Me) -> None:
        self.signed_in_as = me
        self._rest = rest
        self._hearing = hearing
        self._ears = ears
        self._proving = Proving(rest, hearing.book)

    async def close(self) -> None:
        if self._ears is not None:
            await self._ears.close()
        await self._rest.close()

    @property
    def _book(self) -> Book:
        return self._hearing.book

    # Before a call

    @property
    def last_look(self) -> Callable[[], object]:
        return self._rest.exit.look

    @last_look.setter
    def last_look(self, look: Callable[[], object]) -> None:
        self._rest.exit.look = look

    def method(self, verb: str) -> str:
        return _METHODS[verb]

    def bucket(self, method: str, channel: ChannelId | None) -> str:
        return bucket_of(method, _major(channel))

    def refused_for(self, method: str, channel: ChannelId | None) -> float:
        return self._rest.meters.refused_for(method, _major(channel))

    # What was told without a call

    async def hint(self) -> Hint:
        if self._ears is None:
            raise Refused("This Discord account does not listen: the setting discord_live is off.")
        return await self._ears.hint()

    def told(self) -> Mapping[ChannelId, Head] | None:
        return self._hearing.told()

    def known_guilds(self) -> Sequence[GuildId]:
        return self._book.guilds

    # Guilds, channels, threads

    async def guilds(self, after: Cursor | None) -> GuildPage:
        params = {"limit": _GUILDS, **({"after": after} if after else {})}
        found = await self._rest.ask(Route("GET", "/users/@me/guilds"), params=params)
        names = {GuildId(int(one["id"])): str(one["name"]) for one in found}
        return GuildPage(names, next=Cursor(str(max(names))) if len(found) == _GUILDS else None)

    async def guild_channels(self, guild: GuildId) -> Mapping[ChannelId, Head]:
        found = await self._rest.ask(Route("GET", "/guilds/{guild_id}/channels", guild_id=guild))
        if not self._book.knows_rights(str(guild)):  # where no gateway told them
            await self._proving.learn_rights(str(guild))
        return self._book.take_channels(str(guild), found)

    async def guild_threads(self, guild: GuildId) -> Mapping[ChannelId, Head]:
        found = await self._rest.ask(Route("GET", "/guilds/{guild_id}/threads/active", guild_id=guild))
        return self._book.take_channels(str(guild), found["threads"])

    async def archived_threads(self, parent: ChannelId, *, private: bool, after: Cursor | None) -> ChannelPage:
        if private and self._kind(parent) in _HAS_NO_PRIVATE_THREADS:
            raise CannotAsk("There are no private threads in channels of this kind.")
        route = Route("GET", _ARCHIVED + ("private" if private else "public"), channel_id=parent)
        try:
            found = await self._rest.ask(route, params={"limit": PAGE, **({"before": after} if after else {})})
        except ChannelGone as gone:
            if private and not isinstance(gone, ChannelDeleted):  # the channel itself may be open all the same
                raise Refused("The account may not list the private threads of this channel.") from gone
            raise
        threads: list[Json] = found["threads"]
        guild = self._book.guild_of(parent) or next((one["guild_id"] for one in threads), None)
        heads = self._book.take_channels(guild, threads) if guild else {}
        return ChannelPage(heads, next=next_archived(found, after))

    def _kind(self, channel: ChannelId) -> ChannelKind | None:
        head = self._book.head(channel)
        return head.channel.kind if head and head.channel else None

    # Messages

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> Page:
        found = await self._list(channel, {} if before is None else {"before": before})
        may_read = await self._proves(channel, found)
        short = len(found) < PAGE
        return Page(
            messages=translate.messages_of(found),
            reached_start=short and may_read,
            reached_head=before is None and may_read,
            limit=PAGE,
            may_read=may_read,
        )

    async def page_after(self, channel: ChannelId, *, after: MessageId) -> Page:
        found = await self._list(channel, {"after": after})
        may_read = await self._proves(channel, found)
        short = len(found) < PAGE
        return Page(
            messages=translate.messages_of(found),
            reached_start=False,
            reached_head=short and may_read,
            limit=PAGE,
            may_read=may_read,
        )

    async def messages(self, channel: ChannelId, ids: Sequence[MessageId]) -> Mapping[MessageId, Message | None]:
        """Those that the page below the newest of them shows, or shows to be gone; of older ones nothing is said."""
        if not ids:
            return {}
        found = await self._list(channel, {"before": max(ids) + 1})
        if not await self._proves(channel, found):
            return {}
        shown = {message.id: message for message in translate.messages_of(found)}
        oldest = min(shown) if len(found) == PAGE else 0
        return {number: shown.get(number) for number in ids if number >= oldest}

    async def _list(self, channel: ChannelId, bound: Mapping[str, int]) -> list[Json]:
        if self._kind(channel) is ChannelKind.BOARD:
            raise CannotAsk("A board holds no messages itself, only threads.")
        if bound.get("before") == 0:
            raise CannotAsk("Nothing lies below message 0.")
        found: list[Json] = await self._rest.ask(
            Route("GET", _MESSAGES, channel_id=channel), params={"limit": PAGE, **bound}
        )
        return found

    async def _proves(self, channel: ChannelId, found: Sequence[Json]) -> bool:
        """Whether a page is evidence. A message on it proves the right to read; an empty page leaves it open."""
        return bool(found) or await self._proving.may_read(channel)

    # Sends

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        return await self.send_with(channel, text, (), key=key)

    async def send_with(
        self, channel: ChannelId, text: str, enclosures: Sequence[Enclosure], *, key: SendKey
    ) -> Receipt:
        route = Route("POST", _MESSAGES, channel_id=channel)
        try:
            answer: Json = await self._rest.ask(route, **posting.request_of(text, enclosures, key))
        except PlatformError as problem:
            if type(problem) is PlatformError:  # Discord's own trouble: it may have taken the message before it failed
                raise OutcomeUnknown(f"Nobody knows whether the message arrived: {problem}") from problem
            raise
        return posting.receipt_of(answer)


def _major(channel: ChannelId | None) -> str:
    return "" if channel is None else str(channel)
