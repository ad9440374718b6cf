"""Reminders on two accounts go out side by side; two on one account take turns (seed 002)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tests.stories import fan_out
from tidegate.core.clock import SystemClock
from tidegate.demo.telegram_account import Stage, make_stage
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.loopback.counting_world import World
from tidegate.loopback.telegram import World as TelegramWorld

GROUPS, RATE = 12, 600
ADA, BOB = "+10000000001", "+10000000002"
PICTURE = b"a picture of low tide"


@pytest.fixture
async def stage(world: World) -> AsyncIterator[Stage]:
    """Two accounts in the same groups, served by one worker."""
    platform = TelegramWorld(SystemClock(), seed=5)
    platform.add_account(ADA, "Ada")
    platform.add_account(BOB, "Bob")
    for number in range(GROUPS):
        platform.add_channel(f"Group {number:02}").pushes = False
    async with make_stage(world, platform, name="ada", phone=ADA) as made:
        bob = await made.join("bob", BOB)
        made.world.start_worker(
            "one", cycle_every=timedelta(hours=1), max_send_per_minute=RATE, telegram_chat_sends_per_minute=RATE
        )
        await made.ask("sync")
        await made.ask("sync", account=bob)
        yield made


async def until_done(stage: Stage) -> None:
    await stage.world.until("the runs have ended", lambda: fan_out.is_at_rest(stage.world.database))


@pytest.mark.story
async def test_two_accounts_both_progress(stage: Stage) -> None:
    """D-19, D-29, the seed's acceptance: neither waits for the other, each uploads the picture for itself."""
    for account in ("ada", "bob"):
        await fan_out.fire(stage.world.database, account, PICTURE)
    await until_done(stage)
    record = stage.telegram.world.record
    senders = [sent.account for sent in record.sends]
    assert {one: senders.count(one) for one in set(senders)} == dict.fromkeys((ADA[1:], BOB[1:]), 2 * GROUPS)
    first_half = senders[: 2 * GROUPS]
    assert min(first_half.count(ADA[1:]), first_half.count(BOB[1:])) > GROUPS / 2
    assert sorted(upload.account for upload in record.uploads) == [ADA[1:], BOB[1:]]


@pytest.mark.story
async def test_two_reminders_on_one_account_take_turns(stage: Stage) -> None:
    """D-18: the second begins when the first is through, and together they keep the account's pace."""
    database = stage.world.database
    runs = [await fan_out.fire(database, "ada", PICTURE, name=name) for name in ("first", "second")]
    await until_done(stage)
    rows = await database.pool.fetch("SELECT run, claimed_at, sent_at FROM run_parts WHERE state = 'sent'")
    spans = [
        (
            min(row["claimed_at"] for row in rows if row["run"] == run),
            max(row["sent_at"] for row in rows if row["run"] == run),
        )
        for run in runs
    ]
    assert len(rows) == 2 * 2 * GROUPS
    assert spans[0][1] <= spans[1][0]
    record = stage.telegram.world.record
    await fan_out.pace_held(database, [sent.at.timestamp() for sent in record.sends], Pace(RATE))
    assert len(record.uploads) == 1
