"""Topics that want nothing: counted, stored and told without becoming objects, and in their turn one by one."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from tests.scenes.telegram_mirror import Mirror, unheard
from tests.waiting import until
from tidegate.archives.queries import failures
from tidegate.archives.rules.retry import ArchiveFailure, FailureReason
from tidegate.cycles import idle_topics
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.queries import due_topics
from tidegate.scans.queries.due_topics import CycleMoment
from tidegate.scans.rules.scan_decision import Verdict
from tidegate.scans.scan_context import ScanContext

FAILED = (
    "WITH made AS (INSERT INTO archives (channel, topic, kind, base, name, state) "
    "SELECT channel, topic, 'zip', 'x', 'x.zip', 'failed' FROM places "
    "WHERE topic = $1 AND channel = (SELECT id FROM channels WHERE number = $2) RETURNING id, channel, topic) "
    "INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at) "
    "SELECT id, channel, topic, 5, 'download', 2, clock_now() + interval '90 minutes' FROM made"
)


async def a_forum(mirror: Mirror, world: World, title: str, topics: int) -> Channel:
    """A forum whose topics are all followed on their own, read to its end and unchanged since."""
    with unheard(world.add_channel(title, forum=True)) as made:
        numbers = [world.add_topic(made, f"Topic {number}").id for number in range(topics)]
    await mirror.sync()
    await mirror.enable(made, *numbers)
    return made


@pytest.fixture
async def forums(mirror: Mirror, world: World) -> list[Channel]:
    found = [await a_forum(mirror, world, title, 4) for title in ("Models", "Towers")]
    await mirror.settle()
    return found


async def test_topics_of_unchanged_forums_are_counted_and_stored(mirror: Mirror, forums: list[Channel]) -> None:
    """One call and no object for any of them; verdicts, memory and log lines are as if each had been looked at."""
    before = await mirror.place(forums[0], sorted(forums[0].topics)[1])
    with capture_logs() as lines:
        report = await mirror.cycle()
    assert report.calls == {"messages.getPeerDialogs": 1}
    assert report.verdicts == Counter({Verdict.UNCHANGED: 10})
    after = await mirror.place(forums[0], sorted(forums[0].topics)[1])
    assert after["last_scanned_at"] - before["last_scanned_at"] >= timedelta(hours=1)
    assert after["consecutive_empty_scans"] == before["consecutive_empty_scans"] + 1
    assert after["verdict"] == Verdict.UNCHANGED.value
    told = [line for line in lines if line["event"] == "Channel caught up via the gate" and "topics" in line]
    assert [(line["title"], line["topics"], line["verdict"]) for line in told] == [
        ("Models", 4, Verdict.UNCHANGED.value), ("Towers", 4, Verdict.UNCHANGED.value),
    ]  # fmt: skip
    with capture_logs() as lines:
        report = await mirror.cycle()
    assert report.verdicts == Counter({Verdict.FRESH: 10})
    assert (await mirror.place(forums[0], sorted(forums[0].topics)[1]))["verdict"] == Verdict.FRESH.value
    told = [line for line in lines if line["event"] == "Skipping recently-scanned idle channel" and "topics" in line]
    assert [line["topics"] for line in told] == [4, 4]


async def test_cold_topics_keep_their_turns_over_restarts(mirror: Mirror, forums: list[Channel]) -> None:
    """S-58: a restart after every second of 20 cycles; each cold topic had four turns, by the platform's record too."""
    for _ in range(5):
        await mirror.cycle()
        await mirror.pass_time(hours=1)
    turns: Counter[tuple[int, int]] = Counter()
    async with mirror.counted() as calls:
        for number in range(20):
            if number % 2 == 0:
                await mirror.connect()
            await mirror.cycle()
            rows = await mirror.rows("SELECT channel, topic, verdict FROM places WHERE selected")
            turns.update((row["channel"], row["topic"]) for row in rows if row["verdict"] != Verdict.COLD.value)
            await mirror.pass_time(hours=1)
    assert list(turns.values()) == [4] * 8
    assert calls["messages.search"] >= 4 * 8


async def test_many_topics_are_stored_in_portions(
    mirror: Mirror, forums: list[Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction does not grow with the account: each takes some forums, and together they are all of them."""
    monkeypatch.setattr(idle_topics, "FORUMS_AT_ONCE", 1)
    assert (await mirror.cycle()).verdicts == Counter({Verdict.UNCHANGED: 10})
    rows = await mirror.rows("SELECT verdict FROM places WHERE selected")
    assert [row["verdict"] for row in rows] == [Verdict.UNCHANGED.value] * 8


async def test_only_topics_that_want_something_become_objects(mirror: Mirror, forums: list[Channel]) -> None:
    """due-failure-never-skipped: a topic with a failure is looked at by itself, however fresh the others are."""
    topic = sorted(forums[0].topics)[2]
    await mirror.cycle()
    await mirror.rows(FAILED, topic, forums[0].id)
    async with mirror.database.connection() as connection:
        memory = await due_topics.load_awake(connection, mirror.account.id, mirror.policy.scans, mirror.policy.retries)
    awake = [(place.channel, place.topic) for place in memory.places if not place.is_channel]
    assert awake == [(forums[0].id, topic)]
    report = await mirror.cycle()
    assert report.verdicts == Counter({Verdict.FRESH: 8, Verdict.UNCHANGED: 2})  # it, and its forum as a whole
    assert (await mirror.place(forums[0], topic))["consecutive_empty_scans"] == 0


async def test_a_failure_that_commits_meanwhile_keeps_its_topic_awake(mirror: Mirror, forums: list[Channel]) -> None:
    """Another connection has recorded it and not committed yet when the sleeping topics are stored: it counts."""
    forum, topic = forums[0], sorted(forums[0].topics)[2]
    await mirror.cycle()
    await mirror.pass_time(hours=1)
    [row] = await mirror.rows(
        "INSERT INTO archives (channel, topic, kind, base, name, state) "
        "SELECT id, $1, 'tar', 'x', 'x.tar', 'working' FROM channels WHERE number = $2 RETURNING id",
        topic, forum.id,
    )  # fmt: skip
    assert mirror.lane is not None
    policy = mirror.policy
    async with mirror.database.connection() as connection:
        memory = await due_topics.load_awake(connection, mirror.account.id, policy.scans, policy.retries)
    moment = CycleMoment(memory.now, memory.cycle + 1, whole=True)
    context = ScanContext(mirror.lane, mirror.database, None, policy.limits, policy.retries)
    whole = [place for place in memory.places if place.is_channel]
    failure = ArchiveFailure(5, FailureReason.DOWNLOAD, 2, memory.now + timedelta(hours=2))
    async with mirror.database.transaction() as connection:
        await failures.record(connection, row["id"], failure)
        resting = asyncio.create_task(idle_topics.rest_asleep(context, memory, policy.scans, moment, whole))
        await until(lambda: waits_for_a_lock(mirror))
    await resting
    place = await mirror.place(forum, topic)
    assert (place["consecutive_empty_scans"], place["last_scan_found_archives"]) == (0, True)


async def waits_for_a_lock(mirror: Mirror) -> bool:
    return bool(await mirror.rows("SELECT FROM pg_locks WHERE NOT granted"))


async def test_a_moved_topic_is_found_among_the_sleeping(mirror: Mirror, forums: list[Channel]) -> None:
    """A change wakes a forum: all its topics are asked about, and the one that moved is searched."""
    topic = sorted(forums[1].topics)[3]
    mirror.post_files(forums[1], ["tower.zip"], topic)
    report = await mirror.cycle()
    assert report.calls == {
        "messages.getPeerDialogs": 1,
        "messages.getForumTopicsByID": 1,
        "messages.search": 2,
        "updates.getChannelDifference": 1,
    }
    assert await mirror.names(forums[1]) == ["tower.zip"]
    assert report.verdicts == Counter({Verdict.UNCHANGED: 8, Verdict.CHANGED: 2})


async def test_topics_of_a_forum_nobody_can_read_say_so(mirror: Mirror, forums: list[Channel]) -> None:
    """S-46: no silent skip; their memory stays as it was."""
    before = await mirror.place(forums[0], sorted(forums[0].topics)[1])
    await mirror.rows("UPDATE channels SET state = 'unreadable' WHERE number = $1", forums[0].id)
    report = await mirror.cycle()
    assert report.verdicts == Counter({Verdict.UNREADABLE: 5, Verdict.UNCHANGED: 5})
    after = await mirror.place(forums[0], sorted(forums[0].topics)[1])
    assert after["verdict"] == Verdict.UNREADABLE.value
    assert after["last_scanned_at"] == before["last_scanned_at"]


async def test_an_unknown_answer_wakes_all_topics(mirror: Mirror, forums: list[Channel]) -> None:
    """S-11: a forum that the gate leaves out is asked about topic by topic, and none is taken for idle unseen."""
    mirror.world.faults.add(Fault(FaultKind.MISSING_ROW, "messages.getPeerDialogs"))
    report = await mirror.cycle()
    assert report.calls["messages.getForumTopicsByID"] == 1
    assert report.verdicts.total() == 10


async def test_a_thousand_cold_topics_take_turns(mirror: Mirror, world: World) -> None:
    """S-09: over N cycles each of 1,086 cold topics has its turn exactly once, and every cycle its even share."""
    forum = await a_forum(mirror, world, "Huge", 1_086)
    await mirror.rows(
        "UPDATE places SET last_scanned_at = clock_now(), consecutive_empty_scans = 47, newest_seen = $1, "
        "watermark = $1, changes = CASE topic WHEN 0 THEN $2::bigint END",
        forum.newest_id,
        forum.pts,
    )
    turns: list[int] = []
    searched: Counter[int] = Counter()
    for _ in range(mirror.policy.scans.cold_every_nth_cycle):
        await mirror.pass_time(hours=1)
        report = await mirror.cycle()
        rows = await mirror.rows("SELECT topic FROM places WHERE selected AND last_scanned_at = clock_now()")
        searched.update(row["topic"] for row in rows)
        turns.append(report.calls["messages.search"])
        assert (len(rows), report.verdicts.total()) == (turns[-1], 1_087)
    assert (len(searched), set(searched.values())) == (1_086, {1})
    assert max(turns) <= math.ceil(1_086 / 5) + 1
    assert sum(turns) == 1_086
