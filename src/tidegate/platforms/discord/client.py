"""A Discord bot's calls: each verb is one request, so that the lane counts what Discord counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from discord.http import Route

from tidegate.core.errors import ChannelGone, PlatformError, Refused, ServerTrouble
from tidegate.core.ids import ChannelId, GuildId, MessageId, UserId
from tidegate.platforms import interface
from tidegate.platforms.discord import file_reader, send_requests, translation
from tidegate.platforms.discord.gateway.connection import GatewayConnection
from tidegate.platforms.discord.gateway.gateway_events import GatewayEvents
from tidegate.platforms.discord.history_proof import HistoryProof
from tidegate.platforms.discord.message_content_intent import is_blank
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.rest import RestClient, bucket_of
from tidegate.platforms.discord.thread_cursor import next_archived
from tidegate.platforms.interface import ChannelKind, Enclosure, FileHandle, Head, Receipt, SendKey

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
    "chat_head": "GET /channels/{channel.id}",
    "open_chat": "POST /users/@me/channels",
    "page": "GET /channels/{channel.id}/messages",
    "page_after": "GET /channels/{channel.id}/messages",
    "messages": "GET /channels/{channel.id}/messages",
    "read_file": file_reader.METHOD,
    "send": "POST /channels/{channel.id}/messages",
    "send_with": "POST /channels/{channel.id}/messages",
}
_HAS_NO_PRIVATE_THREADS = (ChannelKind.BOARD, ChannelKind.ANNOUNCEMENT, ChannelKind.VOICE)


class DiscordAccount:
    """One signed-in bot (``PlatformClient``, and the abilities of a platform with guilds)."""

    recognises_for: timedelta | None = timedelta(minutes=2)
    """Discord keeps a nonce for "a few minutes"; one older than this counts as forgotten."""

    def __init__(
        self, rest: RestClient, events: GatewayEvents, gateway: GatewayConnection | None, me: interface.Me
    ) -> None:
        """*gateway* is None where the account gets no push updates."""
        self.signed_in_as = me
        self._rest = rest
        self._events = events
        self._gateway = gateway
        self._guilds = events.guilds
        self._permission = HistoryProof(rest, events.guilds)

    async def close(self) -> None:
        if self._gateway is not None:
            await self._gateway.close()
        await self._rest.close()

    # Before a call

    @property
    def pre_send_check(self) -> Callable[[], object]:
        return self._rest.exit.look

    @pre_send_check.setter
    def pre_send_check(self, look: Callable[[], object]) -> None:
        self._rest.exit.look = look

    @property
    def connection_changed(self) -> Callable[[str | None], object]:
        return (lambda _: None) if self._gateway is None else self._gateway.connection_changed

    @connection_changed.setter
    def connection_changed(self, changed: Callable[[str | None], object]) -> None:
        if self._gateway is not None:
            self._gateway.connection_changed = changed

    def method(self, verb: str) -> str:
        return _METHODS[verb]

    def bucket(self, method: str, channel: ChannelId | None) -> str:
        return bucket_of(method, _major(channel))

    def refused_for(self, method: str, channel: ChannelId | None) -> float:
        return self._rest.meters.refused_for(method, _major(channel))

    # What push updates reported, without a call

    async def hints(self, *, most: int) -> Sequence[interface.UpdateHint]:
        if self._gateway is None:
            raise Refused("This Discord account does not listen: the setting discord_live is off.")
        return await self._gateway.updates.take(most, self._gateway.require_open)

    def known_heads(self) -> Mapping[ChannelId, Head] | None:
        return self._events.known_heads()

    def known_guilds(self) -> Sequence[GuildId]:
        return self._guilds.guilds

    # Guilds, channels, threads

    async def guilds(self, after: interface.Cursor | None) -> interface.GuildPage:
        params = {"limit": _GUILDS, **({"after": after} if after else {})}
        found = await self._rest.ask(Route("GET", "/users/@me/guilds"), params=params)
        names = {GuildId(int(one["id"])): str(one["name"]) for one in found}
        for guild, title in names.items():
            self._guilds.take_title(str(guild), title)
        return interface.GuildPage(names, next=interface.Cursor(str(max(names))) if len(found) == _GUILDS else None)

    async def guild_channels(self, guild: GuildId) -> Mapping[ChannelId, Head]:
        found = await self._rest.ask(Route("GET", "/guilds/{guild_id}/channels", guild_id=guild))
        if not self._guilds.knows_rights(str(guild)):  # where there is no gateway to report them
            await self._permission.learn_rights(str(guild))
        return self._guilds.take_channels(str(guild), found)

    async def guild_threads(self, guild: GuildId) -> Mapping[ChannelId, Head]:
        found = await self._rest.ask(Route("GET", "/guilds/{guild_id}/threads/active", guild_id=guild))
        return self._guilds.take_channels(str(guild), found["threads"])

    async def archived_threads(
        self, parent: ChannelId, *, private: bool, after: interface.Cursor | None
    ) -> interface.ChannelPage:
        if private and self._kind(parent) in _HAS_NO_PRIVATE_THREADS:
            raise interface.CannotAsk("There are no private threads in channels of this kind.")
        route = Route("GET", _ARCHIVED + ("private" if private else "public"), channel_id=parent)
        try:
            found = await self._rest.ask(route, params={"limit": PAGE, **({"before": after} if after else {})})
        except ChannelGone as gone:
            if private and not isinstance(gone, interface.ChannelDeleted):  # the channel itself may still be readable
                raise Refused("The account may not list the private threads of this channel.") from gone
            raise
        threads: list[Json] = found["threads"]
        guild = self._guilds.guild_of(parent) or next((one["guild_id"] for one in threads), None)
        heads = self._guilds.take_channels(guild, threads) if guild else {}
        return interface.ChannelPage(heads, next=next_archived(found, after))

    async def chat_head(self, channel: ChannelId) -> Head:
        return self._chat_in(await self._rest.ask(Route("GET", "/channels/{channel_id}", channel_id=channel)))[1]

    async def open_chat(self, person: UserId) -> tuple[ChannelId, Head]:
        """Discord answers with the existing chat, or makes one; the person is not notified."""
        route = Route("POST", "/users/@me/channels")
        return self._chat_in(await self._rest.ask(route, json={"recipient_id": str(person)}))

    def _chat_in(self, answer: Json) -> tuple[ChannelId, Head]:
        channel, head = ChannelId(int(answer["id"])), self._guilds.take_answer(answer)
        if self._gateway is not None:  # messages above that head arrive as events
            self._gateway.updates.add(interface.UpdateHint(channel, heads={channel: head}))
        return channel, head

    def _kind(self, channel: ChannelId) -> ChannelKind | None:
        head = self._guilds.head(channel)
        return head.channel.kind if head and head.channel else None

    # Messages

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> interface.HistoryPage:
        found = await self._list(channel, {} if before is None else {"before": before})
        may_read = await self._proves(channel, found)
        short = len(found) < PAGE
        return interface.HistoryPage(
            messages=translation.messages_of(found, self._guilds.names_in(channel)),
            reached_start=short and may_read,
            reached_head=before is None and may_read,
            limit=PAGE,
            may_read=may_read,
            threads=translation.thread_heads(found),
        )

    async def page_after(self, channel: ChannelId, *, after: MessageId) -> interface.HistoryPage:
        found = await self._list(channel, {"after": after})
        may_read = await self._proves(channel, found)
        short = len(found) < PAGE
        return interface.HistoryPage(
            messages=translation.messages_of(found, self._guilds.names_in(channel)),
            reached_start=False,
            reached_head=short and may_read,
            limit=PAGE,
            may_read=may_read,
            threads=translation.thread_heads(found),
        )

    async def messages(
        self, channel: ChannelId, ids: Sequence[MessageId]
    ) -> Mapping[MessageId, interface.Message | None]:
        """The messages that the page at the newest of them shows, or shows to be deleted; older ones are left out."""
        if not ids:
            return {}
        found = await self._list(channel, {"before": max(ids) + 1})
        if not await self._proves(channel, found):
            return {}
        shown = {message.id: message for message in translation.messages_of(found, self._guilds.names_in(channel))}
        oldest = min(shown) if len(found) == PAGE else 0
        return {number: shown.get(number) for number in ids if number >= oldest}

    async def _list(self, channel: ChannelId, bound: Mapping[str, int]) -> list[Json]:
        if self._kind(channel) is ChannelKind.BOARD:
            raise interface.CannotAsk("A board holds no messages itself, only threads.")
        if bound.get("before") == 0:
            raise interface.CannotAsk("Nothing lies below message 0.")
        route = Route("GET", _MESSAGES, channel_id=channel)
        try:
            found: list[Json] = await self._rest.ask(route, params={"limit": PAGE, **bound})
        except interface.ChannelDeleted:
            raise
        except ChannelGone:
            await self._permission.note_hidden(channel)
            raise
        if any(is_blank(one, self._guilds.me) for one in found):
            await self._permission.require_content()
        return found

    async def _proves(self, channel: ChannelId, found: Sequence[Json]) -> bool:
        """Whether a page is evidence. A message on it proves the permission to read; an empty page does not.

        Where a page contradicts the cached permissions, Discord is asked, so that no later survey repeats the error.
        """
        head = self._guilds.head(channel)
        known_closed = head is not None and head.channel is not None and not head.channel.readable
        if found and not known_closed:
            return True
        return await self._permission.may_read(channel) or bool(found)

    # Files

    async def read_file(self, handle: FileHandle, *, offset: int, length: int) -> bytes:
        return await self._rest.files.read(handle, offset, length)

    # Sends

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        return await self.send_with(channel, text, (), key=key)

    async def send_with(
        self, channel: ChannelId, text: str, enclosures: Sequence[Enclosure], *, key: SendKey
    ) -> Receipt:
        route = Route("POST", _MESSAGES, channel_id=channel)
        try:
            answer: Json = await self._rest.ask(route, **send_requests.request_of(text, enclosures, key))
        except PlatformError as problem:
            if type(problem) is PlatformError:  # Discord failed: it may have accepted the message before
                raise ServerTrouble(f"Nobody knows whether the message arrived: {problem}") from problem
            raise
        return send_requests.receipt_of(answer)


def _major(channel: ChannelId | None) -> str:
    return "" if channel is None else str(channel)
