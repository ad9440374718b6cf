"""Content that PostgreSQL cannot hold as it is: one message must never stop an account."""

from __future__ import annotations

import json

from tests.cycles.guilds.conftest import GuildMirror, channels_of, talk
from tests.waiting import until
from tidegate.core.rules.storable_text import ORIGINALS, storable
from tidegate.history.raw_json import unpack
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Guild

HOSTILE = ["half \ud83d pair", "nul \x00", "\ud800", "pair \ud83d\ude00", "-" * 300]


async def test_one_hostile_message_stops_no_channel(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """All ten channels are complete; what was replaced is marked, and can be read back."""
    made = channels_of(world, guild, [3] * 10)
    posted = [
        world.post(
            made[4], text, attachments=[world.attachment(f"{text}.zip", b"x")], fields={"embeds": [{"title": text}]}
        )
        for text in HOSTILE
    ]
    made[7].name = "name \x00 \ud83d"
    await mirror.connect()
    report = await mirror.cycle()
    assert report.troubles == []
    for channel in made:
        stored = await mirror.stored(channel)
        assert stored == {message.id: storable(message.text) for message in channel.history}
        assert await mirror.covered(channel) == [(0, channel.head)]
    rows = await mirror.rows("SELECT id, raw FROM messages WHERE id = ANY($1)", [one.id for one in posted])
    kept = {row["id"]: unpack(row["raw"]).get(ORIGINALS, {}) for row in rows}
    *broken, whole, signs = posted
    assert [json.loads(kept[one.id]["text"]) for one in broken] == HOSTILE[:-2]
    assert kept[whole.id] == kept[signs.id] == {}, "two halves that belong together are one character"


async def test_live_news_with_hostile_text_are_stored(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """Posted, edited and reacted to while somebody listens."""
    [made] = channels_of(world, guild, [2])
    await mirror.connect(live=True)
    await mirror.cycle()
    async with mirror.working():
        posted = [world.post(made, text) for text in HOSTILE]
        world.edit(made, posted[0].id, text="edited \x00")
        talk(world, made, 1, "after")

        async def is_there() -> bool:
            truth = {message.id: storable(message.text) for message in made.history}
            return await mirror.stored(made) == truth

        await until(is_there)
