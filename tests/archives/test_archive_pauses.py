"""What keeps archives waiting is told once, and what an older Tidegate took for their fault is forgotten."""

from __future__ import annotations

import asyncpg
import pytest

from tests.database.bare_database import bare
from tests.older_schema import upgrade_to
from tidegate.archives.queries import archive_pauses
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Connection, Database
from tidegate.loopback.owned_account import add_account
from tidegate.platforms.telegram import TELEGRAM

pytestmark = pytest.mark.both_servers

__all__ = ["bare"]


async def told(connection: Connection) -> list[str]:
    return [
        row["kind"] for row in await connection.fetch("SELECT kind FROM events WHERE kind LIKE 'filing.%' ORDER BY id")
    ]


async def test_accounts_of_one_machine_share_one_notice(database: Database) -> None:
    """The first account that waits for room is told of, and the last that does no more."""
    first = (await add_account(database, "first", TELEGRAM)).id
    second = (await add_account(database, "second", TELEGRAM)).id
    async with database.transaction() as connection:
        for account in (first, second, first):
            await archive_pauses.note_full_disk(connection, account, "here", "Make room.", needed=9)
        assert await told(connection) == ["filing.paused"]
        assert await archive_pauses.sentences(connection, 10) == ["Make room."]
        await archive_pauses.clear_full_disk(connection, first)
        assert await told(connection) == ["filing.paused"]
        await archive_pauses.clear_full_disk(connection, second)
        assert await told(connection) == ["filing.paused", "filing.resumed"]


async def test_archives_that_a_full_disk_had_given_up_wait_again(bare: Address) -> None:
    """The step that brings pauses gives back the tries that a full disk used up; other failures stay."""
    await upgrade_to(bare, "0024")
    connection = await asyncpg.connect(bare.direct)
    await connection.execute(
        """
        INSERT INTO channels (platform, number) VALUES ('telegram', 7);
        INSERT INTO archives (channel, topic, kind, base, name, state)
        SELECT c.id, 0, 'zip', w.name, w.name, w.state
        FROM channels c,
            (VALUES ('full', 'given_up'), ('full too', 'failed'), ('broken', 'given_up')) AS w (name, state);
        INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at)
        SELECT id, channel, 0, 1, CASE name WHEN 'broken' THEN 'download' ELSE 'disk_full' END, 5, clock_now()
        FROM archives;
        """
    )
    await upgrade(bare.direct)
    rows = await connection.fetch("SELECT name, state FROM archives ORDER BY id")
    assert {row["name"]: row["state"] for row in rows} == {
        "full": "waiting", "full too": "waiting", "broken": "given_up"
    }  # fmt: skip
    assert [row["reason"] for row in await connection.fetch("SELECT reason FROM failures")] == ["download"]
    await connection.close()
