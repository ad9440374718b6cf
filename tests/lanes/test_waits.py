"""What platforms asked to wait, kept for whoever serves the account next."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tests.held import holding, set_wall
from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim, Standing
from tidegate.core.clock import HeldClock
from tidegate.core.errors import NotOurs
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.database.pool import Database
from tidegate.lanes.queries import waits
from tidegate.platforms.telegram import TELEGRAM

pytestmark = pytest.mark.both_servers

CHAT = Scope(ScopeKind.CHAT, "7")
SECOND = timedelta(seconds=1)


@pytest.fixture
async def clock(database: Database) -> AsyncIterator[HeldClock]:
    async with holding(database) as held:
        yield held


@pytest.fixture
async def claim(database: Database) -> Claim:
    async with database.transaction() as connection:
        account = await accounts.add(connection, "shop", TELEGRAM, Standing.NORMAL, loopback=None)
    return Claim(account, epoch=0, deadline=float("inf"))


async def told(database: Database, claim: Claim, scope: Scope, pause: timedelta) -> None:
    async with database.transaction() as connection:
        await waits.remember(connection, claim, scope, pause)


async def stored(database: Database, claim: Claim) -> dict[Scope, timedelta]:
    async with database.transaction() as connection:
        return await waits.load(connection, claim.account)


async def test_a_wait_is_kept_with_what_is_left_of_it(database: Database, clock: HeldClock, claim: Claim) -> None:
    """D-41: whoever opens the lane later waits only for the rest, and only for that scope."""
    await told(database, claim, CHAT, 17 * SECOND)
    await clock.advance(10 * SECOND)
    assert await stored(database, claim) == {CHAT: 7 * SECOND}
    await clock.advance(7 * SECOND)
    assert await stored(database, claim) == {}


async def test_a_shorter_wait_never_shortens_a_longer_one(database: Database, clock: HeldClock, claim: Claim) -> None:
    """Two answers may cross: the longer pause is the one to keep."""
    await told(database, claim, Scope(), timedelta(days=2, hours=1))
    await told(database, claim, Scope(), SECOND)
    assert await stored(database, claim) == {Scope(): timedelta(days=2, hours=1)}


async def test_a_clock_set_back_makes_no_wait_longer_than_it_was_asked_for(
    database: Database, clock: HeldClock, claim: Claim
) -> None:
    """As the pace: a wait that was asked for in the future begins anew from now, whoever reads or adds to it next."""
    await told(database, claim, CHAT, 60 * SECOND)
    await told(database, claim, Scope(), 90 * SECOND)
    await set_wall(clock, clock.now() - timedelta(days=1))
    assert await stored(database, claim) == {CHAT: 60 * SECOND, Scope(): 90 * SECOND}
    await clock.advance(20 * SECOND)
    assert await stored(database, claim) == {CHAT: 40 * SECOND, Scope(): 70 * SECOND}
    await set_wall(clock, clock.now() - timedelta(days=1))
    await told(database, claim, CHAT, SECOND)
    assert (await stored(database, claim))[CHAT] <= 60 * SECOND


async def test_a_wait_is_reported(database: Database, clock: HeldClock, claim: Claim) -> None:
    """state-change-with-event: the feed hears of the pause in the transaction that stores it."""
    await told(database, claim, CHAT, SECOND)
    event = await database.pool.fetchrow("SELECT subject, data FROM events WHERE kind = 'lane.paused'")
    until = (clock.now() + SECOND).isoformat()
    assert tuple(event) == ("shop", {"scope": "chat", "key": "7", "until": until})


async def test_a_late_wait_is_refused(database: Database, claim: Claim) -> None:
    """one-owner-per-account: a worker that lost the account no longer pauses it."""
    await database.pool.execute("UPDATE accounts SET epoch = 1")
    with pytest.raises(NotOurs):
        await told(database, claim, CHAT, SECOND)


async def test_past_waits_are_forgotten(database: Database, clock: HeldClock, claim: Claim) -> None:
    """everything-kept-ends: what is over goes, what still holds stays."""
    await told(database, claim, CHAT, SECOND)
    await told(database, claim, Scope(), timedelta(hours=1))
    await clock.advance(2 * SECOND)
    async with database.pool.acquire() as connection:
        assert await waits.prune(connection, clock.now()) == 1
    assert list(await stored(database, claim)) == [Scope()]
