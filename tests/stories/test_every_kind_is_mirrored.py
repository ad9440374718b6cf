"""However often the worker is killed, every field of every kind of message equals the platform's truth in the end.

Invariants: page-and-progress-together, live-never-closes-a-gap.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from tests.stories.every_kind.harbour import Harbour, enable, harbour, settled
from tests.stories.every_kind.stored_facts import Facts, differing, lost, stored_facts, strays
from tidegate.demo.telegram_account import HOURLY, ask_worker
from tidegate.loopback.counting_world import World

__all__ = ["harbour"]  # a fixture

KILLS = int(os.environ.get("KILLS", "10"))  # KILLS=50 ./dev test tests/stories/… for a longer try


async def happen(harbour: Harbour) -> None:
    await harbour.telegram.happen()
    await harbour.discord.happen()


async def test_every_field_equals_the_truth_after_every_kill(harbour: Harbour) -> None:
    """Posted, edited, reacted to, voted on, pinned and deleted: after one reconcile all fields are the platform's."""
    world, dice = harbour.world, harbour.telegram.dice
    world.start_worker("first", cycle_every=HOURLY)
    await enable(harbour)
    lives = ["first", *(f"life-{number}" for number in range(1, KILLS))]
    for life in lives:
        if life != "first":
            world.start_worker(life, cycle_every=HOURLY)
            wanted = harbour.calls() + dice.randint(1, 8)
            await world.until("the worker is at work", lambda wanted=wanted: harbour.calls() >= wanted)
        await happen(harbour)
        await asyncio.sleep(dice.uniform(0, 0.2))  # when the blow falls
        world.strike(life, signal.SIGKILL)
        await asyncio.to_thread(world.workers[life].join)
        await happen(harbour)
    world.start_worker("last", cycle_every=HOURLY)
    await settled(harbour)
    for account in harbour.accounts.values():
        await ask_worker(world.database, account, "reconcile", channels=None, limit=100_000)
    for actor in (harbour.telegram, harbour.discord):
        rows, truth = await harbour.rows(actor), await harbour.facts(actor)
        assert {number for number, row in rows.items() if row["deleted_at"] is None} == truth.keys()
        stored = {number: stored_facts(rows[number]) for number in truth}
        assert wrong(stored, truth) == {}
        assert astray(stored, truth) == {}
        assert missing(rows, truth) == {}
    await nothing_is_doubled(world)


def wrong(stored: dict[int, Facts], truth: dict[int, tuple[Facts, Any]]) -> dict[int, Any]:
    """The fields that differ, by message: what is stored and what the platform says."""
    found = {number: differing(stored[number], facts) for number, (facts, _) in truth.items()}
    return {number: one for number, one in found.items() if one is not None}


def astray(stored: dict[int, Facts], truth: dict[int, tuple[Facts, Any]]) -> dict[int, list[str]]:
    """What is kept as the platform sent it, and is not there."""
    found = {number: strays(stored[number]["raw"], raw) for number, (_, raw) in truth.items()}
    return {number: one for number, one in found.items() if one}


def missing(rows: dict[int, Any], truth: dict[int, tuple[Facts, Any]]) -> dict[int, list[str]]:
    """Texts of the platform that are kept nowhere."""
    found = {number: lost(rows[number], raw) for number, (_, raw) in truth.items()}
    return {number: one for number, one in found.items() if one}


async def nothing_is_doubled(world: World) -> None:
    """Each message and each of its files is stored once, and no text is followed by the same one."""
    doubled = await world.database.pool.fetch(
        """
        SELECT channel, message FROM attachments GROUP BY channel, message, file HAVING count(*) > 1
        UNION ALL
        SELECT channel, message FROM (
            SELECT channel, message, text, lead(text) OVER (PARTITION BY channel, message ORDER BY number) AS next
            FROM message_revisions
        ) AS told WHERE text = next
        UNION ALL
        SELECT channel, id FROM messages GROUP BY channel, id HAVING count(*) > 1
        """
    )
    assert doubled == []
