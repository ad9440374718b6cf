"""Direct messages with a bot: known once seen, mirrored on request, and read like any channel."""

from __future__ import annotations

import pytest

from tests.cycles.guilds.conftest import CHANNELS, PAGES, GuildMirror, channels_of, talk
from tests.waiting import until
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.errors import PlatformError
from tidegate.core.ids import UserId
from tidegate.cycles.guild_cycle import open_chat
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Bot, Channel, Guild

CHAT, OPEN = "GET /channels/{channel.id}", "POST /users/@me/channels"


@pytest.fixture
def ada(world: World, bot: Bot, guild: Guild) -> Channel:
    """A person's chat with the bot, which has five messages; the bot is in a server too."""
    channels_of(world, guild, [1])
    chat = world.conversation(bot, next(iter(world.people.values())))
    talk(world, chat, 5, "before")
    return chat


async def enable(mirror: GuildMirror, chat: Channel) -> None:
    async with mirror.database.transaction() as connection:
        await channels.enable(connection, await channels.find(connection, str(chat.id)), MirrorOptions())


async def is_known(mirror: GuildMirror, chat: Channel) -> bool:
    return bool(await mirror.rows("SELECT FROM channels WHERE number = $1", chat.id))


async def heard(mirror: GuildMirror, world: World, chat: Channel) -> None:
    """The person writes, so that the chat is known."""
    await mirror.connect(live=True)
    async with mirror.working():
        talk(world, chat, 1, "hello")

        async def seen() -> bool:
            return await is_known(mirror, chat)

        await until(seen)


async def test_it_is_known_and_not_mirrored(mirror: GuildMirror, world: World, ada: Channel) -> None:
    """It belongs to the bot's account, and nothing of it is stored until somebody asks for it."""
    await heard(mirror, world, ada)
    [row] = await mirror.rows("SELECT kind, enabled, private_to FROM channels WHERE number = $1", ada.id)
    assert dict(row) == {"kind": "private chat", "enabled": False, "private_to": mirror.account.id}
    assert await mirror.stored(ada) == {}


async def test_it_is_found_by_the_number_of_its_person(mirror: GuildMirror, world: World, ada: Channel) -> None:
    """Also when nobody wrote while a worker ran. On request it is mirrored from its first message on."""
    person = UserId(next(iter(world.people)))
    await mirror.connect()
    async with mirror.counted() as calls:
        assert await open_chat(mirror.context, person) == ada.id
        assert await open_chat(mirror.context, person) == ada.id
    assert calls == {OPEN: 2}
    [row] = await mirror.rows("SELECT kind, enabled, private_to FROM channels WHERE number = $1", ada.id)
    assert dict(row) == {"kind": "private chat", "enabled": False, "private_to": mirror.account.id}
    await enable(mirror, ada)
    await mirror.cycle()
    assert await mirror.equals_truth(ada)


async def test_a_number_that_is_nobodys_is_refused(mirror: GuildMirror, world: World, ada: Channel) -> None:
    """Discord's own word is passed on, and no chat is made up."""
    await mirror.connect()
    with pytest.raises(PlatformError, match="Invalid Form Body"):
        await open_chat(mirror.context, UserId(max(world.people) + 1))
    assert not await mirror.rows("SELECT FROM channels WHERE private_to IS NOT NULL")


async def test_on_request_it_is_read_whole_and_followed(mirror: GuildMirror, world: World, ada: Channel) -> None:
    """What was written before the request too; later messages, edits and deletions come as events."""
    await heard(mirror, world, ada)
    await enable(mirror, ada)
    await mirror.connect(live=True)
    async with mirror.working():

        async def complete() -> bool:
            return await mirror.equals_truth(ada) and await mirror.covered(ada) == [(0, ada.head)]

        await until(complete)
        async with mirror.counted() as calls:
            written = talk(world, ada, 3, "live")
            world.edit(ada, written[0], text="edited")
            world.delete(ada, [written[1]], bulk=False)
            await until(complete)
        assert calls[PAGES] == 0


async def test_what_was_missed_while_nobody_listened_is_read(mirror: GuildMirror, world: World, ada: Channel) -> None:
    """No list has the chat, so it is asked for once in a session; further cycles cost nothing for it."""
    await heard(mirror, world, ada)
    await enable(mirror, ada)
    await mirror.connect()
    await mirror.cycle()
    assert await mirror.equals_truth(ada)
    talk(world, ada, 3, "missed")
    await mirror.connect(live=True)
    async with mirror.counted() as calls:
        await mirror.cycle()
        assert await mirror.equals_truth(ada)
        await mirror.cycle()
    assert (calls[CHAT], calls[PAGES], calls[CHANNELS]) == (1, 1, 0)


async def test_the_first_message_after_a_restart_hides_no_gap(mirror: GuildMirror, world: World, ada: Channel) -> None:
    """It proves nothing about what was written before it in the same chat."""
    await heard(mirror, world, ada)
    await enable(mirror, ada)
    await mirror.connect()
    await mirror.cycle()
    talk(world, ada, 3, "missed")
    await mirror.connect(live=True)
    talk(world, ada, 1, "live")
    async with mirror.working():

        async def complete() -> bool:
            return await mirror.equals_truth(ada) and await mirror.covered(ada) == [(0, ada.head)]

        await until(complete)
