"""The operator's knobs reach what they turn."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.scenes.telegram_mirror import Mirror
from tidegate.app.policies import policy_of
from tidegate.app.settings import Settings
from tidegate.archives.contents_indexer import index_waiting_sets
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.archives.rules.set_assembly import SetPolicy
from tidegate.cycles.cycle import CyclePolicy
from tidegate.loopback.telegram import World
from tidegate.scans.rules.call_bounds import CallLimits
from tidegate.scans.rules.scan_decision import ScanPolicy


def test_every_setting_of_the_mirror_reaches_its_habit() -> None:
    """What an operator writes is what the rules get."""
    hour = timedelta(hours=1)
    settings = Settings(
        fresh_for=hour,
        cold_after_empty_scans=2,
        cold_every_nth_cycle=3,
        cycle_every=4 * hour,
        retry_cap=7,
        archive_size_limit=8,
        pages_a_turn=9,
        archive_quiet_for=10 * hour,
        archive_collect_for=11 * hour,
    )
    assert policy_of(settings) == CyclePolicy(
        scans=ScanPolicy(hour, 2, 3),
        retries=RetryPolicy(cap=7, cycle_interval=4 * hour, size_limit=8),
        limits=CallLimits(pages_a_turn=9),
        sets=SetPolicy(quiet_for=10 * hour, collect_for=11 * hour),
    )


def test_the_defaults_are_those_of_the_rules() -> None:
    """An operator who sets nothing gets what the rules were tested with."""
    assert policy_of(Settings()) == CyclePolicy()


async def test_a_set_is_taken_as_whole_after_the_quiet_the_operator_wants(mirror: Mirror, world: World) -> None:
    """Two equal parts tell no end: the set waits for `archive_quiet_for`, and no longer."""
    news = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(news)
    mirror.post_files(news, ["a.part1.rar", "a.part2.rar"])
    mirror.policy = CyclePolicy(sets=SetPolicy(quiet_for=timedelta(minutes=10)))
    await mirror.cycle()
    assert [row["state"] for row in await mirror.rows("SELECT state FROM archives")] == ["collecting"]
    await mirror.pass_time(minutes=11)
    await mirror.cycle()
    assert [row["state"] for row in await mirror.rows("SELECT state FROM archives")] == ["waiting"]


async def test_a_raised_size_limit_brings_back_what_was_too_large(mirror: Mirror, world: World) -> None:
    """`archive_size_limit`: held without costing tries or calls, and due by itself once the limit allows it."""
    news = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(news)
    mirror.post_files(news, ["large.pdf"])
    assert mirror.lane is not None
    small = CyclePolicy(retries=RetryPolicy(size_limit=10))
    mirror.policy = small
    await mirror.cycle()
    await index_waiting_sets(mirror.lane, mirror.database, small.retries)
    assert [row["reason"] for row in await mirror.rows("SELECT reason FROM failures")] == ["size_limit"]
    assert (await mirror.cycle()).failures_retried == 0
    mirror.policy = replace(small, retries=RetryPolicy(size_limit=10_000))
    assert (await mirror.cycle()).failures_retried == 1
    await index_waiting_sets(mirror.lane, mirror.database, mirror.policy.retries)
    assert [row["state"] for row in await mirror.rows("SELECT state FROM archives")] == ["filed"]
