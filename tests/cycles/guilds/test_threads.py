"""H-39 to H-42: threads are channels with a history of their own, asleep or awake."""

from __future__ import annotations

from tests.cycles.guilds.conftest import PAGES, GuildMirror, channels_of, talk
from tests.waiting import until
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import ChannelKind, Guild
from tidegate.loopback.discord.world.threads import start
from tidegate.loopback.faults import Fault, FaultKind

PUBLIC = "GET /channels/{channel.id}/threads/archived/public"
PRIVATE = "GET /channels/{channel.id}/threads/archived/private"


async def test_h39_a_thread_made_and_archived_between_cycles_is_found(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """H-39: by the flag of its message: one list of its parent, one page of its own, and never a list again."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect()
    await mirror.cycle()
    origin = world.post(made, "let us talk about it")
    thread = start(world, made, "about it", from_message=origin.id)
    talk(world, thread, 3)
    world.archive(thread, archived=True)
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert (calls[PUBLIC], calls[PAGES]) == (1, 2)
    assert await mirror.equals_truth(made, thread)
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert (calls[PUBLIC], calls[PAGES]) == (0, 0)


async def test_h39_h42_a_board_s_threads_are_found_by_its_head(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-39, H-42: the newest thread's number is a board's head; no page and no private list is asked of the board."""
    board = world.add_channel(guild, "questions", ChannelKind.FORUM)
    first = start(world, board, "first", text="how?")
    world.archive(first, archived=True)
    await mirror.connect()
    await mirror.cycle()
    second = start(world, board, "second", text="why?")
    talk(world, second, 2)
    world.archive(second, archived=True)
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert (calls[PUBLIC], calls[PRIVATE]) == (1, 0)
    assert await mirror.equals_truth(first, second)
    assert not [call for call in world.record.calls if call.method == PAGES and call.channel == board.id]
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PUBLIC] == 0


async def test_a_thread_that_fell_asleep_is_looked_at_once_more(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Posts made between the last cycle and the archiving are not lost, and cost one page."""
    [made] = channels_of(world, guild, [5])
    thread = start(world, made, "beside", text="one")
    await mirror.connect()
    await mirror.cycle()
    talk(world, thread, 3)
    world.archive(thread, archived=True)
    async with mirror.counted() as calls:
        await mirror.cycle()
        await mirror.cycle()
    assert calls[PAGES] == 1
    assert await mirror.equals_truth(thread)


async def test_h40_a_thread_that_wakes_up_is_read_on(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-40: its head in the active list is above what is covered."""
    [made] = channels_of(world, guild, [5])
    thread = start(world, made, "beside", text="one")
    await mirror.connect()
    await mirror.cycle()
    world.archive(thread, archived=True)
    await mirror.cycle()
    talk(world, thread, 3)  # which wakes it
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PAGES] == 1
    assert await mirror.equals_truth(thread)


async def test_h41_a_private_archive_that_may_not_be_listed_is_noted(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """H-41: the parent says so; its public threads and its own messages go on."""
    [made] = channels_of(world, guild, [5])
    thread = start(world, made, "beside", text="one")
    world.archive(thread, archived=True)
    world.faults.add(Fault(FaultKind.FORBIDDEN, PRIVATE, count=9))
    await mirror.connect(live=True)
    async with mirror.working():

        async def noted() -> bool:
            rows = await mirror.rows("SELECT remark FROM channels WHERE number = $1", made.id)
            return bool(rows) and "private threads" in rows[0]["remark"]

        await until(noted)
        await until(lambda: mirror.equals_truth(made, thread))


async def test_a_thread_that_is_made_while_we_listen_is_mirrored(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Its first message and what follows; a conversation with a person is not, until somebody asks for it."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect(live=True)
    async with mirror.working():
        await until(lambda: mirror.equals_truth(made))
        thread = start(world, made, "beside", text="one")
        talk(world, thread, 3)
        chat = world.channel("@Ada")
        talk(world, chat, 2, "hello")
        await until(lambda: mirror.equals_truth(made, thread))
        assert await mirror.stored(chat) == {}


async def test_a_thread_made_and_archived_unseen_under_an_old_message_is_found_by_a_daily_listing(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Nothing speaks of it, because its message was read long before: the archived threads are listed once a day."""
    [made] = channels_of(world, guild, [150])
    await mirror.connect()
    async with mirror.working() as rounds:
        await until(lambda: mirror.at_rest(made))
        old = next(iter(made.history)).id
        thread = start(world, made, "an aside", text="aside", from_message=old)
        world.archive(thread, archived=True)
        async with mirror.counted() as calls:
            await rounds.requests(mirror.account.id).ask(None)
            await rounds.requests(mirror.account.id).ask(None)
        assert calls[PUBLIC] == 0
        await mirror.pass_time(days=1)
        await rounds.requests(mirror.account.id).ask(None)

        async def found() -> bool:
            return thread.id in [row["number"] for row in await mirror.rows("SELECT number FROM channels")] and (
                await mirror.equals_truth(thread)
            )

        await until(found)
