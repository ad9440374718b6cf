"""What platforms asked to wait, kept for whoever serves the account next."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tests.held import holding
from tidegate.clock import HeldClock
from tidegate.errors import NotOurs
from tidegate.store import accounts, waits
from tidegate.store.database import Database
from tidegate.words import Claim, Platform, Scope, ScopeKind, Standing

CHAT = Scope(ScopeKind.CHAT, "7")
SECOND = timedelta(seconds=1)


@pytest.fixture
async def clock(database: Database) -> AsyncIterator[HeldClock]:
    async with holding(database) as held:
        yield held


@pytest.fixture
async def claim(database: Database) -> Claim:
    async with database.transaction() as connection:
        account = await accounts.add(connection, "shop", Platform.TELEGRAM, Standing.NORMAL, loopback=None)
    return Claim(account, epoch=0, deadline=float("inf"))


async def told(database: Database, claim: Claim, scope: Scope, pause: timedelta) -> None:
    async with database.transaction() as connection:
        await waits.remember(connection, claim, scope, pause)


async def stored(database: Database, claim: Claim) -> dict[Scope, timedelta]:
    async with database.pool.acquire() as connection:
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


async def test_a_wait_is_told(database: Database, clock: HeldClock, claim: Claim) -> None:
    """Law 9: the feed hears of the pause in the transaction that stores it."""
    await told(database, claim, CHAT, SECOND)
    event = await database.pool.fetchrow("SELECT subject, data FROM events WHERE kind = 'lane.paused'")
    until = (clock.now() + SECOND).isoformat()
    assert tuple(event) == ("shop", {"scope": "chat", "key": "7", "until": until})


async def test_a_late_wait_is_refused(database: Database, claim: Claim) -> None:
    """Law 8: a worker that lost the account no longer pauses it."""
    await database.pool.execute("UPDATE accounts SET epoch = 1")
    with pytest.raises(NotOurs):
        await told(database, claim, CHAT, SECOND)


async def test_past_waits_are_forgotten(database: Database, clock: HeldClock, claim: Claim) -> None:
    """Law 14: what is over goes, what still holds stays."""
    await told(database, claim, CHAT, SECOND)
    await told(database, claim, Scope(), timedelta(hours=1))
    await clock.advance(2 * SECOND)
    async with database.pool.acquire() as connection:
        assert await waits.prune(connection, clock.now()) == 1
    assert list(await stored(database, claim)) == [Scope()]
