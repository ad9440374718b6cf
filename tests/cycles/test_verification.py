"""Whole histories of Telegram are compared again, and its counter of changes takes the place of their pages."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta

from tests.history.backfill_scene import context, mirrored, stored
from tests.scenes.telegram_mirror import Mirror, unheard
from tidegate.channels.queries import channels
from tidegate.history.backfill import backfill_missing
from tidegate.history.background.verification import verify_some
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.queries import verification
from tidegate.history.queries.verification import HistoryRound
from tidegate.loopback.telegram.world.channels import Channel

MESSAGES = int(os.environ.get("MESSAGES", "3000"))  # MESSAGES=20000 ./dev test tests/cycles/… for the whole story
PAGES = "messages.getHistory"
POLICY = HistoryPolicy(verify_within=timedelta(days=30), verify_calls=500)


async def texts(mirror: Mirror, channel: Channel) -> dict[int, str]:
    rows = await mirror.rows(
        "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel "
        "WHERE c.number = $1 AND m.deleted_at IS NULL AND m.text <> ''",
        channel.id,
    )
    return {row["id"]: row["text"] for row in rows}


def truth(channel: Channel) -> dict[int, str]:
    return {number: one.text for number, one in channel.messages.items() if one.text}


def change_silently(channel: Channel, *, share: int = 50) -> None:
    """Edit and delete one message of *share* each, without the platform counting it."""
    chosen = random.Random(7).sample(sorted(truth(channel)), 2 * len(channel.messages) // share)
    for number in chosen[::2]:
        channel.messages[number].text = f"edited {number}"
    for number in chosen[1::2]:
        del channel.messages[number]


async def now_of(mirror: Mirror) -> datetime:
    [row] = await mirror.rows("SELECT clock_now() AS now")
    return row["now"]


async def round_of(mirror: Mirror, channel: Channel) -> HistoryRound:
    async with mirror.database.connection() as connection:
        found = await verification.load(connection, (await channels.find(connection, str(channel.id))).key)
    assert found is not None
    return found


async def complete(mirror: Mirror, size: int) -> Channel:
    """A channel mirrored in full and read to its end."""
    [made] = await mirrored(mirror, size)
    await mirror.cycle()
    while await stored(mirror, made) != sorted(made.messages):
        await backfill_missing(context(mirror), mirror.policy.history)
    assert await verify_some(context(mirror), POLICY) is None
    return made


async def live(mirror: Mirror, *, days: int, policy: HistoryPolicy = POLICY) -> Counter[str]:
    """A cycle every six hours and rounds as they become due; returns the platform's own count of calls."""
    end = await now_of(mirror) + timedelta(days=days)
    async with mirror.counted() as calls:
        while await now_of(mirror) < end:
            await mirror.cycle()
            while (again := await verify_some(context(mirror), policy)) is not None:
                await mirror.pass_time(seconds=again.total_seconds())
            await mirror.pass_time(hours=6)
    return calls


async def test_changes_that_no_counter_names_are_found_within_the_time_and_the_budget(mirror: Mirror) -> None:
    """The story of thirty days on Telegram: silent changes anywhere, and never more calls a day than allowed."""
    made = await complete(mirror, MESSAGES)
    change_silently(made)
    few = replace(POLICY, verify_calls=max(60, MESSAGES // 40))
    begun, by_day = await now_of(mirror), Counter[date]()
    while await texts(mirror, made) != truth(made):
        day = (await now_of(mirror)).date()
        async with mirror.counted() as calls:
            again = await verify_some(context(mirror), few)
        by_day[day] += calls.total()
        await mirror.pass_time(seconds=(again or timedelta(hours=6)).total_seconds())
        assert await now_of(mirror) - begun < POLICY.verify_within
    assert MESSAGES // 100 <= by_day.total() < 3 * (MESSAGES // 100 + 1)
    assert max(by_day.values()) <= few.verify_calls


async def test_a_history_whose_counter_was_followed_is_verified_without_its_pages(mirror: Mirror) -> None:
    """After one whole round no page is read for a year, while edits and deletions are stored as they are counted."""
    made = await complete(mirror, 350)
    assert (await live(mirror, days=17))[PAGES] >= 4
    verified = (await round_of(mirror, made)).verified_until
    assert verified is not None
    with unheard(made):
        mirror.world.edit(made, 20, text="edited")
        mirror.world.delete(made, [30])
    calls = await live(mirror, days=365)
    assert calls[PAGES] == 0
    after = await round_of(mirror, made)
    assert after.verified_until is not None
    assert await now_of(mirror) - after.verified_until < timedelta(days=2)
    assert not after.running
    assert await texts(mirror, made) == truth(made)


async def test_a_counter_that_moved_past_changes_proves_nothing_until_they_were_compared(mirror: Mirror) -> None:
    """Too many changes to read each: what is stored is asked for by number first, and only then the counter counts."""
    made = await complete(mirror, 350)
    await live(mirror, days=17)
    gap = await now_of(mirror)
    with unheard(made):
        mirror.world.edit(made, 20, text="edited")
        for number in range(400):
            mirror.world.post(made, f"talk {number}")
    mirror.policy = replace(mirror.policy, history=replace(mirror.policy.history, reconcile_calls=0))
    await mirror.pass_time(days=3)
    await mirror.cycle()
    unread = await round_of(mirror, made)
    assert unread.verified_until is not None
    assert unread.verified_until <= gap
    mirror.policy = replace(mirror.policy, history=POLICY)
    await live(mirror, days=3)
    compared = await round_of(mirror, made)
    assert compared.verified_until is not None
    assert compared.verified_until > gap
    assert (await texts(mirror, made))[20] == "edited"
