"""Histories of many channels: portion after portion to the target, the start, or a sentence that says why not."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from structlog.testing import capture_logs

from tests.history.backfill_scene import context, found, mirrored, stored
from tests.scenes.telegram_mirror import Mirror
from tidegate.history.backfill import Backfill, backfill, backfill_missing
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.rules.backfill_plan import HistoryDepth, PortionBudget
from tidegate.loopback.faults import Fault, FaultKind

PAGES = "messages.getHistory"
ONE_BY_ONE = HistoryPolicy(budget=PortionBudget(batches=1, messages=100))


async def know_heads(mirror: Mirror) -> None:
    """What a first cycle's gate stores, without its reading."""
    for channel in mirror.world.channels.values():
        await mirror.rows(
            "UPDATE places SET newest_seen = $2 FROM channels c WHERE c.id = channel AND c.number = $1 RETURNING 1",
            channel.id, channel.newest_id,
        )  # fmt: skip


def only(done: Backfill) -> dict[str, object]:
    [one] = done.as_json()["channels"]
    return dict(one)


async def test_what_is_left_queues_again_until_all_is_there(mirror: Mirror) -> None:
    """Budgets bound a portion, not the work: three channels, a page a portion, and no page is asked for twice."""
    made = await mirrored(mirror, 250, 120, 30)
    await know_heads(mirror)
    async with mirror.counted() as calls:
        done = await backfill_missing(context(mirror), ONE_BY_ONE)
    assert [await stored(mirror, channel) for channel in made] == [sorted(channel.messages) for channel in made]
    told = done.as_json()
    assert (told["succeeded"], told["failed"]) == (3, 0)
    assert {one["title"]: one["calls"] for one in told["channels"]} == {"Talk 0": 3, "Talk 1": 2, "Talk 2": 1}
    assert calls[PAGES] == 6
    assert all(one["reached_start"] and one["gaps"] == [] for one in told["channels"])
    async with mirror.counted() as calls:
        assert (await backfill_missing(context(mirror), ONE_BY_ONE)).channels == []
    assert not calls


async def test_one_channel_s_failure_stops_no_other(mirror: Mirror) -> None:
    """The summary says who failed and why; the gap stays, and the next run reads it."""
    bad, good = await mirrored(mirror, 150, 150)
    await know_heads(mirror)
    mirror.world.faults.add(Fault(FaultKind.ERROR, PAGES, channel=bad.id, code="400 CHAT_BOGUS"))
    with capture_logs() as logs:
        told = (await backfill_missing(context(mirror), HistoryPolicy())).as_json()
    assert (told["succeeded"], told["failed"]) == (1, 1)
    assert {one["title"]: one["error"] is None for one in told["channels"]} == {bad.title: False, good.title: True}
    assert await stored(mirror, good) == sorted(good.messages)
    assert "[Backfill] Summary: 1/2 channels successful, 1 failed" in [line["event"] for line in logs]
    again = await backfill_missing(context(mirror), HistoryPolicy())
    assert only(again)["title"] == bad.title
    assert await stored(mirror, bad) == sorted(bad.messages)


async def test_h14_the_target_keeps_whole_pages_and_claims_nothing_more(mirror: Mirror) -> None:
    """H-14: reached in the middle of a page, the page is kept whole; a higher target later goes on from there."""
    [made] = await mirrored(mirror, 350)
    told = only(await backfill(context(mirror), HistoryPolicy(), await found(mirror, made), wanted=HistoryDepth(150)))
    assert (told["fetched"], told["reached_start"]) == (200, False)
    assert told["coverage"] == [[151, 350]]
    assert told["gaps"] == [[0, 150]]
    async with mirror.counted() as calls:
        told = only(
            await backfill(context(mirror), HistoryPolicy(), await found(mirror, made), wanted=HistoryDepth(250))
        )
    assert (calls[PAGES], told["coverage"]) == (1, [[51, 350]])


async def test_h15_a_date_bounds_a_walk_and_a_later_one_goes_on(mirror: Mirror) -> None:
    """H-15: it stops at the cut-off and is not complete; the next run without it reads the rest alone."""
    made = mirror.world.add_channel("Old", date=datetime(2026, 1, 1, tzinfo=UTC))
    for day in range(300):
        mirror.world.post(made, f"day {day}", date=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day))
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    bound = HistoryDepth(since=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=150))
    told = only(await backfill(context(mirror), HistoryPolicy(), await found(mirror, made), wanted=bound))
    assert (told["calls"], told["reached_start"], told["coverage"]) == (2, False, [[102, 301]])
    async with mirror.counted() as calls:
        await backfill(context(mirror), HistoryPolicy(), await found(mirror, made), wanted=bound)
    assert not calls
    told = only(await backfill(context(mirror), HistoryPolicy(), await found(mirror, made), wanted=HistoryDepth()))
    assert (told["fetched"], told["reached_start"]) == (101, True)


@pytest.mark.parametrize("slices", [1, 4])
async def test_h16_slices_bring_the_same_messages(mirror: Mirror, slices: int) -> None:
    """H-16: one cursor or several at once: the same rows, one stretch, and at most a page more a slice."""
    [made] = await mirrored(mirror, 10_500)
    policy = HistoryPolicy(budget=PortionBudget(batches=slices))
    async with mirror.counted() as calls:
        told = only(await backfill(context(mirror), policy, await found(mirror, made)))
    assert await stored(mirror, made) == sorted(made.messages)
    assert told["coverage"] == [[0, 10_500]]
    assert calls[PAGES] <= 105 + slices


async def test_h19_only_unfinished_slices_go_on(mirror: Mirror) -> None:
    """H-19: a backfill cut off in the middle of its slices asks afterwards for what is missing alone."""
    [made] = await mirrored(mirror, 10_500)
    sliced = HistoryPolicy(budget=PortionBudget(batches=4, rounds=1))
    under_way = asyncio.create_task(backfill(context(mirror), sliced, await found(mirror, made)))
    while len(await stored(mirror, made)) < 3_000:
        await asyncio.sleep(0)
    under_way.cancel()
    await asyncio.wait([under_way])
    before = len(await stored(mirror, made))
    async with mirror.counted() as calls:
        await backfill(context(mirror), sliced, await found(mirror, made))
    assert await stored(mirror, made) == sorted(made.messages)
    assert calls[PAGES] <= -(-(10_500 - before) // 100) + 4


async def test_h43_two_at_once_never_fetch_a_page_twice(mirror: Mirror) -> None:
    """H-43: a cycle and a command, or two commands, share the pages of a channel between them."""
    [made] = await mirrored(mirror, 550)
    async with mirror.counted() as calls:
        both = await found(mirror, made)
        await asyncio.gather(*(backfill(context(mirror), ONE_BY_ONE, both) for _ in range(3)))
    assert await stored(mirror, made) == sorted(made.messages)
    assert calls[PAGES] == 6


async def test_h20_a_page_that_cannot_be_stored_is_asked_for_again(mirror: Mirror) -> None:
    """H-20: rows and coverage of the page are rolled back together, and the next try stores both."""
    [made] = await mirrored(mirror, 150)
    await mirror.database.pool.execute(
        """
        CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON coverage EXECUTE FUNCTION full_disk();
        """
    )
    with pytest.raises(asyncpg.DiskFullError):
        await backfill(context(mirror), HistoryPolicy(), await found(mirror, made))
    assert await stored(mirror, made) == []
    await mirror.database.pool.execute("DROP TRIGGER full_disk ON coverage")
    told = only(await backfill(context(mirror), HistoryPolicy(), await found(mirror, made)))
    assert await stored(mirror, made) == sorted(made.messages)
    assert told["reached_start"]


async def test_each_page_is_told_and_so_is_the_end(mirror: Mirror) -> None:
    """The page shows progress from the feed: an event a page with the depth so far, and one at the end."""
    [made] = await mirrored(mirror, 250)
    await backfill(context(mirror), ONE_BY_ONE, await found(mirror, made))
    events = await mirror.rows("SELECT kind, data FROM events WHERE kind LIKE 'backfill.%' ORDER BY id")
    assert [row["kind"] for row in events] == [*["backfill.progressed"] * 3, "backfill.ended"]
    assert [row["data"]["depth"] for row in events[:3]] == [100, 200, 250]
    assert events[-1]["data"]["reached_start"]


async def test_the_seed_s_lines_are_in_the_log(mirror: Mirror) -> None:
    """An operator of the seed finds the lines that were watched there: selection, phases, progress, end, summary."""
    [made] = await mirrored(mirror, 250)
    await know_heads(mirror)
    with capture_logs() as logs:
        await backfill(context(mirror), ONE_BY_ONE, await found(mirror, made), wanted=HistoryDepth(200))
    rule = f"[Backfill] {'═' * 39}"
    assert [line["event"] for line in logs] == [
        "[on_ready] Found 1 channels to backfill",
        "[Backfill] Starting background backfill for 1 channels with concurrency by load.",
        "[Backfill] ⚡ No existing data for Talk 0. Performing initial fetch...",
        "[Backfill]   → Fetched 100 older messages",
        "[Backfill]   ✓ Progress: 100/200 (50%)",
        "[Backfill] ↓ Talk 0 iteration 1: 100/200 (need 100 more)",
        "[Backfill]   → Fetched 100 older messages",
        "[Backfill]   ✓ Progress: 200/200 (100%)",
        "[Backfill] ✓ Completed Talk 0: 200/200 (100%) - Fetched 200 messages",
        rule,
        "[Backfill] Summary: 1/1 channels successful, 0 failed",
        rule,
    ]
