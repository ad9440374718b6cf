"""Accounts as the page shows them."""

from __future__ import annotations

import pytest

from tests.web.home_rows import FILLED
from tidegate.accounts.queries import account_list
from tidegate.accounts.queries.account_list import AT_A_TIME, AccountCondition
from tidegate.database.pool import Database

pytestmark = pytest.mark.both_servers


async def test_an_account_shows_its_health_pace_and_warm_up(database: Database) -> None:
    """Who serves it, what it spent in 24 hours, when its last cycle ended, how many channels it reads."""
    await database.pool.execute(FILLED)
    await database.pool.execute(
        "UPDATE pace SET per_hour = 100, warm_since = clock_now(), warm_cap = 36;"
        "INSERT INTO calls (account, kind, method, outcome, at) VALUES (1, 'work', 'x', 'failed', clock_now())"
    )
    async with database.connection() as connection:
        [ada] = await account_list.some(connection, like="ada")
        [out] = await account_list.some(connection, like="out")
    assert (ada.served_by, ada.sent, ada.read, ada.errors, ada.channels) == ("anna", 2, 3, 1, 2)
    assert (ada.rate, ada.ceiling, ada.per_hour, ada.warm_cap) == (20, 40, 100, 36)
    assert ada.last_cycle_at is not None
    assert (out.served_by, out.rate, out.last_cycle_at) == (None, None, None)
    assert "tidegate account sign-in out" in out.next_action


async def test_very_many_come_some_at_a_time(database: Database) -> None:
    """In natural order, from one on, by a part of their name in any case."""
    await database.pool.execute(
        "INSERT INTO accounts (name, platform) SELECT 'Shop ' || n, 'whatsapp' FROM generate_series(120, 1, -1) n"
    )
    async with database.connection() as connection:
        first = await account_list.some(connection)
        second = await account_list.some(connection, after=first[-1].id)
        third = await account_list.some(connection, after=second[-1].id)
        assert [len(page) for page in (first, second, third)] == [AT_A_TIME, AT_A_TIME, 20]
        names = [one.name for page in (first, second, third) for one in page]
        assert names == [f"Shop {number}" for number in range(1, 121)]
        assert [one.name for one in await account_list.some(connection, like="shop 12")] == ["Shop 12", "Shop 120"]
        assert await account_list.some(connection, like="%") == []


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        (AccountCondition.CONNECTED, ["ada"]),
        (AccountCondition.NOT_CONNECTED, ["left"]),
        (AccountCondition.UNREACHABLE, ["far"]),
        (AccountCondition.PAUSED, ["rests"]),
        (AccountCondition.SIGNED_OUT, ["out"]),
        (AccountCondition.BANNED, []),
    ],
)
async def test_accounts_are_filtered_by_how_they_do(
    database: Database, condition: AccountCondition, names: list[str]
) -> None:
    """Each account is in exactly one of these states."""
    await database.pool.execute(FILLED)
    await database.pool.execute(
        "INSERT INTO accounts (name, platform, owner, unreachable_since, unreachable_why) "
        "VALUES ('far', 'telegram', 1, clock_now(), 'The network is away.')"
    )
    async with database.connection() as connection:
        assert [one.name for one in await account_list.some(connection, condition=condition)] == names


async def test_accounts_are_filtered_by_platform(database: Database) -> None:
    """Only those of that platform."""
    await database.pool.execute(FILLED)
    async with database.connection() as connection:
        assert [one.name for one in await account_list.some(connection, platform="discord")] == ["rests"]
