"""``tidegate plan``: over random worlds the real cycle lies within what was said before it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scenes.telegram_mirror import Mirror, make_mirror
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.cycle_forecast import foresee
from tidegate.history.history_pages import HistoryPolicy
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.call_bounds import CallLimits

_numbers = itertools.count()


@dataclass
class Scene:
    """The channels of one example, of which some may be left by the account on the way."""

    mirror: Mirror
    channels: list[Channel] = field(default_factory=list)

    @property
    def world(self) -> World:
        return self.mirror.world

    def pick(self, number: int) -> Channel:
        return self.channels[number % len(self.channels)]

    async def add(self, kind: str, size: int) -> None:
        """A new channel that is mirrored from now on: flat, a forum, one with selected topics, or one in full."""
        made = self.world.add_channel(f"Channel {next(_numbers)}", forum=kind in ("forum", "selected"))
        for number in range(size if made.forum else 0):
            self.world.add_topic(made, f"Topic {number}")
        self.post(made, size)
        await self.mirror.sync()
        chosen = sorted(made.topics)[: 1 + size // 2] if kind == "selected" else []
        await self.mirror.enable(made, *chosen, in_full=kind == "full")
        self.channels.append(made)

    def post(self, channel: Channel, files: int) -> None:
        """Files, spread over the channel's topics."""
        topics = [number for number in channel.topics if number > 1 and not channel.topics[number].deleted] or [0]
        for number in range(files):
            topic = topics[number % len(topics)] if channel.forum else 0
            self.mirror.post_files(channel, [f"{channel.newest_id}.zip"], topic)

    def talk(self, channel: Channel, lines: int) -> None:
        for _ in range(lines):
            self.world.post(channel, "talk")

    def new_topics(self, channel: Channel, count: int) -> None:
        for number in range(count if channel.forum else 0):
            self.mirror.post_files(channel, ["a.zip"], self.world.add_topic(channel, f"New {number}").id)

    def leave(self, channel: Channel, _: int) -> None:
        channel.members.discard(1_000_001)

    def forget(self, channel: Channel, files: int) -> None:
        self.post(channel, files)
        self.world.forget_events(channel)

    async def fail_all(self) -> None:
        """All that was found so far failed and is due again, each with as many messages as it has parts."""
        await self.mirror.rows("UPDATE archives SET state = 'failed' WHERE state IN ('waiting', 'collecting')")
        await self.mirror.rows(
            "INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at) "
            "SELECT id, channel, topic, 1, 'download', 1, clock_now() FROM archives WHERE state = 'failed' "
            "ON CONFLICT (archive) DO UPDATE SET next_try_at = clock_now()"
        )

    async def cool(self) -> None:
        await self.mirror.rows("UPDATE places SET consecutive_empty_scans = 5, last_scan_found_archives = false")


BEFORE = ("nothing", "nothing", "ask", "fail", "cool", "add")
MEANWHILE: dict[str, Callable[[Scene, Channel, int], None]] = {
    "nothing": lambda scene, channel, size: None,
    "post": Scene.post,
    "talk": Scene.talk,
    "new topics": Scene.new_topics,
    "forget": Scene.forget,
    "leave": Scene.leave,
}
kinds = st.sampled_from(["flat", "forum", "selected", "full"])
sizes = st.sampled_from([0, 1, 12, 40])
steps = st.tuples(
    st.sampled_from(BEFORE),
    kinds,
    st.lists(st.tuples(st.sampled_from(sorted(MEANWHILE)), st.integers(0, 9), sizes), max_size=3),
    st.sampled_from([1, 60]),
)
limits = st.builds(
    CallLimits,
    gate_batch=st.sampled_from([1, 2, 100]),
    heads_batch=st.sampled_from([2, 100]),
    most_changes=st.sampled_from([5, 300]),
    pages_a_turn=st.sampled_from([2, 3, 50]),  # the lower, the nearer a cycle comes to its bound
)


async def _prepare(scene: Scene, act: str, kind: str) -> None:
    """What changes the memory itself, so the plan has to know of it."""
    if act == "ask":
        await scene.mirror.ask(scene.pick(0))
    elif act == "fail":
        await scene.fail_all()
    elif act == "cool":
        await scene.cool()
    elif act == "add":
        await scene.add(kind, 4)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    made=st.lists(st.tuples(kinds, st.integers(0, 8)), min_size=1, max_size=3),
    acts=st.lists(steps, min_size=2, max_size=5),
    limits=limits,
    page=st.sampled_from([10, 100]),
)
async def test_the_real_cycle_lies_within_the_plan(
    mirror: Mirror, made: list[tuple[str, int]], acts: list, limits: CallLimits, page: int
) -> None:
    """Whatever people did meanwhile: failures, cold turns, new and lost channels; and the plan itself costs no call."""
    await mirror.rows("UPDATE channels SET enabled = false")  # those of the example before
    mirror.policy, mirror.world.limits.page = CyclePolicy(limits=limits), 100
    scene = Scene(mirror)
    for kind, size in made:
        await scene.add(kind, size)
    mirror.world.limits.page = page
    for act, kind, meanwhile, minutes in acts:
        await _prepare(scene, act, kind)
        async with mirror.counted() as calls, mirror.database.connection() as connection:
            plan = await foresee(connection, mirror.account, mirror.policy)
        assert not calls
        for what, number, size in meanwhile:
            MEANWHILE[what](scene, scene.pick(number), size)
        async with mirror.counted() as calls:
            report = await mirror.cycle()
        assert plan.cycle == report.cycle
        assert plan.calls.at_least <= calls.total() <= plan.calls.at_most
        await mirror.pass_time(minutes=minutes)


async def test_a_settled_forum_is_not_made_out_to_be_dear(mirror: Mirror, world: World) -> None:
    """One gate for certain, and no more than a turn's pages beside it."""
    forum = world.add_channel("Models", forum=True)
    world.add_topic(forum, "Dragons")
    await mirror.sync()
    await mirror.enable(forum)
    await mirror.settle()
    async with mirror.database.connection() as connection:
        plan = await foresee(connection, mirror.account, mirror.policy)
    assert (plan.calls.at_least, plan.calls.at_most) == (1, 1 + mirror.policy.limits.pages_a_turn + 1)


async def test_a_turn_ends_at_its_calls_however_much_there_is(mirror: Mirror, world: World) -> None:
    """A difference that is refused, the search in its place and new topics' titles share one turn; the rest is next."""
    forum = world.add_channel("Models", forum=True)
    world.add_topic(forum, "Dragons")
    await mirror.sync()
    await mirror.enable(forum)
    await mirror.settle()
    apart = HistoryPolicy(reconcile_calls=0)  # what is compared has calls of its own
    mirror.policy = CyclePolicy(limits=CallLimits(pages_a_turn=3), history=apart)
    names = [f"{number:03}.zip" for number in range(450)]
    for name in names:
        mirror.post_files(forum, [name], world.add_topic(forum, name).id)
    world.forget_events(forum)
    spent = []
    for _ in range(8):
        async with mirror.database.connection() as connection:
            plan = await foresee(connection, mirror.account, mirror.policy)
        async with mirror.counted() as calls:
            await mirror.cycle()
        spent.append(calls.total())
        assert plan.calls.at_least <= calls.total() <= plan.calls.at_most == 4 + 1  # one where a count disagrees
    assert max(spent) == 4
    assert await mirror.names(forum) == names


async def test_failures_are_foreseen_with_all_their_parts(mirror: Mirror, world: World) -> None:
    """A set of 150 parts takes two calls to fetch again, one of a single part none besides."""
    channel = world.add_channel("Models")
    await mirror.sync()
    await mirror.enable(channel)
    await mirror.settle()
    mirror.post_files(channel, [f"x.part{number:03}.rar" for number in range(1, 151)])
    mirror.post_files(channel, ["alone.zip"])
    await mirror.cycle()
    await mirror.pass_time(hours=2)
    await mirror.cycle()
    await Scene(mirror).fail_all()
    async with mirror.database.connection() as connection:
        plan = await foresee(connection, mirror.account, mirror.policy)
    report = await mirror.cycle()
    assert report.calls["channels.getMessages"] == 2
    assert plan.calls.at_most == 1 + 2 + mirror.policy.limits.pages_a_turn + 1  # one where a count disagrees


async def test_a_channel_that_lost_its_reader_is_in_the_plan(mirror: Mirror, world: World) -> None:
    """S-45: the next account that sees it will read it, and its plan says so without taking it."""
    channel = world.add_channel("Shared")
    mirror.post_files(channel, ["a.zip"])
    await mirror.sync()
    await mirror.enable(channel)
    await mirror.cycle()
    other = await make_mirror(mirror.database, mirror.telegram, mirror.call_log, "second", "+1000002")
    try:
        await other.sync()
        await mirror.rows("UPDATE accounts SET state = 'signed_out' WHERE name = 'reader'")
        async with mirror.database.connection() as connection:
            plan = await foresee(connection, other.account, other.policy)
        assert (await mirror.place(channel))["reader"] == mirror.account.id
        calls = (await other.cycle()).calls
        assert plan.calls.at_least <= sum(calls.values()) <= plan.calls.at_most
        assert sum(calls.values()) > 0
    finally:
        assert other.lane is not None
        await other.lane.close()
