"""A worker that stops answering is replaced after the time-out, and does nothing more when it comes back.

Invariant: one-owner-per-account.
"""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest

from tests.stories.freezing import LOCK, STATES, task
from tidegate.core.clock import SystemClock
from tidegate.loopback.counting_world import World
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM


@pytest.mark.parametrize("state", STATES)
async def test_its_accounts_are_served_elsewhere_and_it_makes_no_further_call(world: World, state: str) -> None:
    """Frozen in whatever state: served elsewhere, no stale call after SIGCONT, no late write accepted."""
    await world.add_accounts(300)
    blocker = await world.database.direct("the test's lock")
    await blocker.execute(f"BEGIN; {LOCK}")
    world.start_worker("frozen", task(state))
    await world.until("the worker is in its state", lambda: _stands(world))

    for name in ("second", "third"):
        world.start_worker(name)
    await world.until_spread(100, 100, 100)  # the account in its state is the oldest, and so stays where it is
    world.strike("frozen", signal.SIGSTOP)
    await blocker.execute("COMMIT")
    await world.until_all_called(300, besides="frozen")

    world.strike("frozen", signal.SIGCONT)
    await world.until_spread(100, 100, 100)  # it came back as a worker like any other
    frozen, since = str(world.workers["frozen"].pid), SystemClock().ticks()
    await world.until("it calls for its new share", lambda: len(world.called_by(since).get(frozen, ())) >= 90)
    assert world.platform.record.stale_calls() == []
    late = "SELECT count(*) FROM events WHERE kind = 'test.late' AND data = '1'"  # written in the first owner's epoch
    assert await world.database.pool.fetchval(late) == 0
    await blocker.close()


async def _stands(world: World) -> bool:
    standing: bool = await world.database.pool.fetchval("SELECT EXISTS (SELECT FROM events WHERE kind = 'test.stands')")
    return standing


async def test_a_silent_owner_keeps_its_telegram_sign_in_longer(world: World) -> None:
    """Two addresses on one key can end a sign-in: Telegram accounts wait for the second, longer time-out."""
    await world.add_accounts(4, TELEGRAM)
    await world.add_accounts(4, DISCORD)
    world.start_worker("frozen")
    await world.until_spread(8)
    await world.until_all_called(8)
    world.strike("frozen", signal.SIGSTOP)
    world.start_worker("next")
    since = SystemClock().ticks()
    await world.until("Discord accounts move", lambda: len(_served(world, since)) >= 4)
    await _rounds_pass(world, "next")
    assert _served(world, since) == {f"discord-{number}" for number in range(4)}


async def test_a_dead_owner_loses_its_telegram_sign_in_at_once(world: World) -> None:
    """A killed process holds no connection any more, so nobody waits for it."""
    await world.add_accounts(4, TELEGRAM)
    world.start_worker("killed")
    await world.until_spread(4)
    await world.until_all_called(4)
    world.strike("killed", signal.SIGKILL)
    world.start_worker("next")
    await world.until_all_called(4, besides="killed")


async def test_the_longer_time_out_ends_too(world: World) -> None:
    """After it, a sign-in of a silent owner is taken over like any other."""
    await world.add_accounts(2, TELEGRAM)
    silent = timedelta(seconds=12)
    world.start_worker("frozen", telegram_silent_takeover_for=silent)
    await world.until_spread(2)
    world.strike("frozen", signal.SIGSTOP)
    world.start_worker("next", telegram_silent_takeover_for=silent)
    await world.until_all_called(2, besides="frozen")
    assert world.platform.record.stale_calls() == []


def _served(world: World, since: float) -> set[str]:
    frozen = str(world.workers["frozen"].pid)
    return set().union(*(found for who, found in world.called_by(since).items() if who != frozen))


async def _rounds_pass(world: World, name: str, rounds: int = 4) -> None:
    """Until the worker has looked around that often again, by its stored beat."""
    seen: set[object] = set()

    async def beats() -> bool:
        seen.add(await world.database.pool.fetchval("SELECT max(beat_at) FROM workers WHERE name = $1", name))
        return len(seen) > rounds

    await world.until("rounds pass", beats)
