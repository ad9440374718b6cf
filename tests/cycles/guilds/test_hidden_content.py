"""Discord hides what messages say from a bot whose message content intent was switched off."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tests.cycles.guilds.conftest import GuildMirror, channels_of, talk, truth
from tests.waiting import until
from tidegate.core.errors import Halted
from tidegate.cycles.cycle import CyclePolicy
from tidegate.history.raw_json import unpack
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Guild


async def test_nothing_blank_is_stored_or_covers_anything(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """What was stored stays, what was missed is a gap, the account stops with the sentence; then all is fetched."""
    [made] = channels_of(world, guild, [50])
    mirror.policy = CyclePolicy()
    embed = world.post(made, "", fields={"embeds": [{"title": "only an embed"}]})
    await mirror.connect()
    await mirror.cycle()
    before, covered = await mirror.stored(made), await mirror.covered(made)
    first = min(before)

    bot = next(iter(world.bots.values()))
    switched_on = set(bot.switched_on)
    bot.switched_on.discard("message_content")
    world.edit(made, first, text="edited while hidden")
    talk(world, made, 40, "hidden")
    with pytest.raises(Halted, match="Message Content Intent"):
        await mirror.cycle()
    assert await mirror.stored(made) == before
    assert await mirror.covered(made) == covered
    [account] = await mirror.rows("SELECT state, state_why FROM accounts WHERE id = $1", mirror.account.id)
    assert account["state"] == "paused"
    assert "Message Content Intent" in account["state_why"]

    bot.switched_on = switched_on
    await mirror.pass_time(minutes=5)
    await mirror.rows("UPDATE accounts SET state = 'active', state_why = NULL RETURNING 1")
    await mirror.connect()
    await mirror.cycle()
    assert await mirror.stored(made) == truth(made)
    [row] = await mirror.rows("SELECT raw FROM messages WHERE id = $1", embed.id)
    assert unpack(row["raw"])["embeds"] == [{"title": "only an embed"}]


async def test_live_news_that_is_hidden_overwrites_nothing(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """An edit that is told blank keeps the stored text, and a blank post is not stored as one."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect(live=True)
    await mirror.cycle()
    before = await mirror.stored(made)
    for session in mirror.discord.gateway.sessions.values():
        session.intents &= ~(1 << 15)
    next(iter(world.bots.values())).switched_on.discard("message_content")
    with suppress(Halted):  # the work may end by itself before the block does
        async with mirror.working():
            world.edit(made, min(before), text="edited while hidden")
            world.post(made, "posted while hidden")
            await until(lambda: mirror.lane.gate.stopped)
    assert await mirror.stored(made) == before
    assert set(truth(made)) > set(before)
