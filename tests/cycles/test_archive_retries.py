"""Failed archives in a cycle: fetched by number when they are due, whatever the verdicts say.

Invariant: due-failure-never-skipped.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scenes.telegram_mirror import Mirror
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.scan_decision import Verdict


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """A channel, enabled and settled."""
    made = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    return made


async def fail_all(mirror: Mirror, *, attempts: int = 1, by_hand: bool = False) -> None:
    """Every archive found so far failed that often; the next try is due."""
    await mirror.rows("UPDATE archives SET state = CASE WHEN $1 >= 5 THEN 'given_up' ELSE 'failed' END", attempts)
    await mirror.rows(
        "INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at, by_hand) "
        "SELECT a.id, a.channel, a.topic, p.message, 'download', $1, clock_now(), $2 "
        "FROM archives a JOIN archive_parts p ON p.archive = a.id",
        attempts,
        by_hand,
    )


async def states(mirror: Mirror) -> Counter[str]:
    return Counter(row["state"] for row in await mirror.rows("SELECT state FROM archives"))


async def test_a_due_failure_is_fetched_a_minute_after_an_idle_scan(mirror: Mirror, channel: Channel) -> None:
    """S-04: the message is fetched by id in this cycle, the reason names the failure, the empty counter stays 0."""
    mirror.post_files(channel, ["broken.zip"])
    await mirror.settle()
    await fail_all(mirror)
    await mirror.pass_time(minutes=1)
    report = await mirror.cycle()
    place = await mirror.place(channel)
    assert report.calls == {"messages.getPeerDialogs": 1, "channels.getMessages": 1}
    assert (report.verdicts, report.failures_retried) == (Counter({Verdict.RETRY: 1}), 1)
    assert place["consecutive_empty_scans"] == 0
    assert await states(mirror) == Counter({"waiting": 1})


async def test_a_failure_does_not_drag_the_good_ones_along(mirror: Mirror, channel: Channel) -> None:
    """S-24, S-25: the watermark stays above it, and only the failed one is handed back."""
    mirror.post_files(channel, ["bad.zip", "good.zip"])
    await mirror.settle()
    watermark = (await mirror.place(channel))["watermark"]
    await fail_all(mirror)
    await mirror.rows("DELETE FROM failures WHERE archive = (SELECT id FROM archives WHERE base = 'good')")
    await mirror.rows("UPDATE archives SET state = 'filed' WHERE base = 'good'")
    await mirror.cycle()
    assert await states(mirror) == Counter({"waiting": 1, "filed": 1})
    assert (await mirror.place(channel))["watermark"] == watermark


async def test_a_failure_at_its_cap_costs_no_calls(mirror: Mirror, channel: Channel) -> None:
    """S-35: given up, visible, and its channel may be idle again."""
    mirror.post_files(channel, ["hopeless.zip"])
    await mirror.settle()
    await fail_all(mirror, attempts=5)
    report = await mirror.cycle()
    assert report.calls == {"messages.getPeerDialogs": 1}
    assert await states(mirror) == Counter({"given_up": 1})
    assert (await mirror.place(channel))["consecutive_empty_scans"] > 0


async def test_a_retry_by_hand_runs_in_the_very_next_cycle(mirror: Mirror, channel: Channel) -> None:
    """S-36: in a place with 47 empty scans, scanned a minute ago; the watermark is the same before and after."""
    mirror.post_files(channel, ["hopeless.zip"])
    await mirror.settle()
    await fail_all(mirror, attempts=5, by_hand=True)
    await mirror.rows("UPDATE places SET consecutive_empty_scans = 47, last_scan_found_archives = false")
    watermark = (await mirror.place(channel))["watermark"]
    assert (await mirror.cycle()).failures_retried == 1
    assert (await mirror.place(channel))["watermark"] == watermark


async def test_many_failures_are_fetched_a_hundred_at_a_time(mirror: Mirror, channel: Channel) -> None:
    """S-37: 250 due failures in one channel cost three calls."""
    mirror.post_files(channel, [f"{number}.zip" for number in range(250)])
    await mirror.settle()
    await fail_all(mirror)
    report = await mirror.cycle()
    assert (report.calls["channels.getMessages"], report.failures_retried) == (3, 250)


async def test_a_source_that_is_gone_closes_its_failure(mirror: Mirror, channel: Channel) -> None:
    """S-39: closed with that reason, and never asked for again."""
    [number] = mirror.post_files(channel, ["gone.zip"])
    await mirror.settle()
    await fail_all(mirror)
    del channel.messages[number]  # gone without a word: no event tells it
    assert (await mirror.cycle()).failures_retried == 0
    [row] = await mirror.rows("SELECT reason, state FROM failures JOIN archives ON archives.id = archive")
    assert tuple(row) == ("source_gone", "gone")
    assert "channels.getMessages" not in (await mirror.cycle()).calls


async def test_trouble_on_the_way_is_no_try(mirror: Mirror, channel: Channel) -> None:
    """A refused fetch leaves the failure as it is, and the rest of the cycle goes on."""
    mirror.post_files(channel, ["broken.zip"])
    await mirror.settle()
    await fail_all(mirror)
    mirror.world.faults.add(Fault(FaultKind.ERROR, "channels.getMessages", code="400 MSG_ID_INVALID"))
    report = await mirror.cycle()
    assert (report.failures_retried, report.gated) == (0, 1)
    [row] = await mirror.rows("SELECT attempts FROM failures")
    assert row["attempts"] == 1
    assert (await mirror.cycle()).failures_retried == 1
