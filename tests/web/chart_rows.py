"""Sums and a run as charts show them."""

from __future__ import annotations

from tests.reminders.run_builder import a_run, frozen
from tests.scans.stored_channels import add_account, add_channel
from tidegate.core.ids import ChannelKey, RunId
from tidegate.database.pool import Database

_HOURS = """
    INSERT INTO message_hours (channel, hour, messages)
    SELECT id, date_trunc('hour', clock_now(), 'UTC') - n * interval '1 hour', 2
    FROM channels, generate_series(0, 99) n;
    INSERT INTO account_hours (account, hour, requests, sends, errors, checks, check_requests, check_places)
    SELECT id, date_trunc('hour', clock_now(), 'UTC') - n * interval '1 hour', 7, 3, 1, 1, 2, 50
    FROM accounts, generate_series(0, 99) n;
    INSERT INTO storage_days (day, archives, archive_bytes, files, file_bytes)
    SELECT (clock_now() AT TIME ZONE 'UTC')::date - n, 1, 5000000, 1, 1000000 FROM generate_series(0, 9) n;
    DELETE FROM hour_fills
"""


async def fill_sums(database: Database) -> ChannelKey:
    """Two accounts with a channel each, and four days of sums."""
    async with database.transaction() as connection:
        first = await add_account(connection, "ada")
        second = await add_account(connection, "bob")
        await add_channel(connection, first, 7)
        key = (await add_channel(connection, second, 8)).key
        await connection.execute(_HOURS)
    return key


async def add_running_run(database: Database) -> RunId:
    """A run to four groups that began ten minutes ago, of which three got their message."""
    async with database.transaction() as connection:
        account = await add_account(connection, "shop")
        run = await frozen(connection, a_run(account, targets=4, parts=1))
        await connection.execute("UPDATE runs SET began_at = clock_now() - interval '10 minutes'")
        await connection.execute(
            """
            UPDATE run_parts SET state = 'sent', sent_at = clock_now() - target * interval '2 minutes'
            WHERE (run, target) IN (SELECT run, number FROM run_targets ORDER BY number LIMIT 3)
            """
        )
        await connection.execute(
            "INSERT INTO pace (account, tat, rate, ceiling) VALUES ($1, clock_now(), 4, 12)", account
        )
    return run
