"""What cannot wait for the next cycle, and when that is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tidegate.accounts.queries import accounts
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.archives.rules.set_assembly import SetPolicy
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Claim, Standing
from tidegate.core.ids import AccountId, ChannelId
from tidegate.database.pool import Database
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM
from tidegate.scans.queries import due_work, scan_memory
from tidegate.scans.rules.scan_decision import ScanPolicy

pytestmark = pytest.mark.both_servers

HOUR = timedelta(hours=1)


@pytest.fixture
async def reader(database: Database) -> AccountId:
    """An account that reads the channel "News", which was just enabled."""
    async with database.transaction() as connection:
        await accounts.add(connection, "reader", TELEGRAM, Standing.NORMAL, loopback=None)
        number = (await accounts.find(connection, "reader")).account.id
        await channels.see(connection, TELEGRAM, number, [Channel(ChannelId(7), "News")])
        await channels.enable(connection, await channels.find(connection, "News"), MirrorOptions())
    return number


async def test_a_channel_that_was_never_scanned_is_new_until_it_is(database: Database, reader: AccountId) -> None:
    """Enabling one is enough to have it looked at; a scan of any kind ends it."""
    async with database.transaction() as connection:
        ahead = await due_work.load(connection, reader, RetryPolicy(), SetPolicy(), judged_at=None)
        assert ahead.new == [7]
        assert (ahead.retry_at, ahead.judge_at) == (None, None)
        await connection.execute("UPDATE places SET last_scanned_at = clock_now()")
        ahead = await due_work.load(connection, reader, RetryPolicy(), SetPolicy(), judged_at=None)
        assert ahead.new == []


async def test_an_enabled_channel_always_has_a_next_time(database: Database, reader: AccountId) -> None:
    """Nobody serves the account: it is due as soon as a worker starts, which is as good as now."""
    async with database.transaction() as connection:
        kept = await channels.find(connection, "News")
        [place] = await scan_memory.shown(connection, kept.key)
        now = await connection.fetchval("SELECT clock_now()")
        for due in await due_work.next_dues(connection, [(kept.reader, place), (None, place)], ScanPolicy(), HOUR):
            assert abs(due - now) < HOUR


async def test_only_the_owner_says_when_the_next_cycle_is(database: Database, reader: AccountId) -> None:
    """one-owner-per-account: a late owner's word is refused by epoch."""
    async with database.transaction() as connection:
        await due_work.expect_cycle(connection, Claim(reader, 5, 0.0), HOUR)
        assert await connection.fetchval("SELECT next_cycle_at FROM accounts") is None
        await due_work.expect_cycle(connection, Claim(reader, 0, 0.0), HOUR)
        assert await connection.fetchval("SELECT next_cycle_at > clock_now() FROM accounts")
