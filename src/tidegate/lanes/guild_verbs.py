"""The verbs of a platform whose channels live in guilds, and whose history can be read upwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.errors import ChannelGone
from tidegate.lanes.limits import ReadLimits
from tidegate.lanes.road import Road
from tidegate.lanes.sending import Claimed
from tidegate.lanes.verbs import Verbs
from tidegate.port import (
    ChannelId,
    ChannelPage,
    Cursor,
    Encloses,
    Enclosure,
    GuildId,
    GuildPage,
    Guilds,
    Head,
    MessageId,
    Page,
    ReadsUp,
    Receipt,
    SendKey,
    Tells,
)


class GuildVerbs(Verbs):
    """All verbs, with those that only some platforms have."""

    def __init__(self, road: Road, reads: ReadLimits, transfers: ReadLimits) -> None:
        super().__init__(road, reads, transfers)
        client = road.client
        self._reads_up = client if isinstance(client, ReadsUp) else None
        self._guilds = client if isinstance(client, Guilds) else None
        self._tells = client if isinstance(client, Tells) else None
        self._encloses = client if isinstance(client, Encloses) else None

    @property
    def has_guilds(self) -> bool:
        """Whether the account's channels live in guilds, so that ``survey`` tells them all."""
        return self._guilds is not None

    @property
    def reads_up(self) -> bool:
        """Whether history can be read upwards from a message."""
        return self._reads_up is not None

    def told(self) -> Mapping[ChannelId, Head] | None:
        """Where every channel stands by the platform's own word, which costs no call; None while it is not certain."""
        self._road.require_open()
        return None if self._tells is None else self._tells.told()

    async def survey(self, *, cycle: int | None = None) -> Mapping[ChannelId, Head]:
        """Every channel and active thread the account sees, with its head.

        That costs nothing where the platform has told it, else two calls a guild. A guild the account was thrown out
        of is missing from the answer.
        """
        if (told := self.told()) is not None:
            return told
        client = self._able(self._guilds, "tell of guilds")
        heads: dict[ChannelId, Head] = {}
        for guild in client.known_guilds():
            try:
                heads.update(await self.guild_channels(guild, cycle=cycle))
                heads.update(await self.guild_threads(guild, cycle=cycle))
            except ChannelGone:
                continue
        return heads

    async def heads(self, channels: Sequence[ChannelId], *, cycle: int | None = None) -> Mapping[ChannelId, Head]:
        """As everywhere; a platform with guilds answers for all its channels at once, so ask it for all you need."""
        if self._guilds is None:
            return await super().heads(channels, cycle=cycle)
        wanted = set(channels)
        return {number: head for number, head in (await self.survey(cycle=cycle)).items() if number in wanted}

    async def guilds(self, after: Cursor | None = None, *, cycle: int | None = None) -> GuildPage:
        """Some of the guilds the account is in."""
        client = self._able(self._guilds, "list guilds")
        return await self._read("guilds", None, cycle, lambda: client.guilds(after))

    async def guild_channels(self, guild: GuildId, *, cycle: int | None = None) -> Mapping[ChannelId, Head]:
        """All channels of a guild with their heads, threads apart."""
        client = self._able(self._guilds, "list a guild's channels")
        return await self._read("guild_channels", ChannelId(guild), cycle, lambda: client.guild_channels(guild))

    async def guild_threads(self, guild: GuildId, *, cycle: int | None = None) -> Mapping[ChannelId, Head]:
        """All threads of a guild that are active, with their heads."""
        client = self._able(self._guilds, "list a guild's threads")
        return await self._read("guild_threads", ChannelId(guild), cycle, lambda: client.guild_threads(guild))

    async def archived_threads(
        self, parent: ChannelId, *, private: bool = False, after: Cursor | None = None, cycle: int | None = None
    ) -> ChannelPage:
        """Some archived threads of a channel, the last archived first; one may come twice where pages meet."""
        client = self._able(self._guilds, "list archived threads")
        verb = "archived_private_threads" if private else "archived_threads"
        return await self._read(
            verb, parent, cycle, lambda: client.archived_threads(parent, private=private, after=after)
        )

    async def page_after(self, channel: ChannelId, *, after: MessageId, cycle: int | None = None) -> Page:
        """The messages nearest above *after*; newest first, as on every page."""
        client = self._able(self._reads_up, "read a channel's history upwards")
        return await self._read("page_after", channel, cycle, lambda: client.page_after(channel, after=after))

    async def send_with(
        self,
        channel: ChannelId,
        text: str,
        enclosures: Sequence[Enclosure],
        *,
        key: SendKey,
        run: int | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post a text together with files, in one call, as soon as the pace allows; *claimed* as in ``send``."""
        client = self._able(self._encloses, "post files along with a text")
        return await self._send(
            "send_with", channel, run, claimed, lambda: client.send_with(channel, text, enclosures, key=key)
        )
