"""Names with numbers come in the order in which people expect them: "Shop 2" before "Shop 10"."""

from __future__ import annotations

import re

import pytest

from tests.history.stored_messages import kept
from tests.web.archive_builder import add_archive
from tests.web.visiting import sign_in, visiting
from tidegate.accounts.queries import accounts
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.errors import NotThere
from tidegate.database.pool import Database
from tidegate.media.queries import media_rules
from tidegate.reminders.queries import target_lists
from tidegate.web.pages.queries import home

__all__ = ["kept"]  # a fixture

pytestmark = pytest.mark.both_servers

NUMBERED = """
INSERT INTO accounts (name, platform) SELECT 'Shop ' || n, 'whatsapp' FROM generate_series(10, 1, -1) n;
INSERT INTO channels (platform, number, title) SELECT 'telegram', n, 'Customers ' || n FROM generate_series(1, 10) n;
INSERT INTO target_lists (name) VALUES ('all');
INSERT INTO target_list_members (list, channel) SELECT 1, id FROM channels;
INSERT INTO media_rules (channel, kind, largest) SELECT id, 'picture', 5 FROM channels;
"""
SHOPS = [f"Shop {number}" for number in range(1, 11)]
CUSTOMERS = [f"Customers {number}" for number in range(1, 11)]


async def test_accounts_lists_and_rules_are_in_natural_order(database: Database) -> None:
    """On Home, in the sentence that names accounts, among the members of a list, and among the rules of storage."""
    await database.pool.execute(NUMBERED)
    async with database.connection() as connection:
        assert [one.name for one in await home.lanes(connection, 25)] == SHOPS
        assert [one.name for one in await home.lanes(connection, 3)] == SHOPS[:3]
        with pytest.raises(NotThere, match='Accounts: "Shop 1", "Shop 2", "Shop 3", "Shop 4", "Shop 5", "Shop 6"'):
            await accounts.find(connection, "nobody")
        lists = await target_lists.listing(connection)
        assert [one.title for one in await target_lists.members(connection, lists[0].id)] == CUSTOMERS
        assert [one.title for one in await media_rules.named_rules(connection)] == CUSTOMERS


async def test_files_of_an_archive_are_in_natural_order_over_all_pages(database: Database, kept: KnownChannel) -> None:
    """ "part 2" before "part 10", whatever order the archive has; the second page goes on where the first one ended."""
    async with database.transaction() as connection:
        files = (f"part {number}.stl" for number in range(600, 0, -1))
        archive = await add_archive(connection, kept, "Set.zip", *files)
    async with visiting(database) as client:
        await sign_in(client, database)
        first = (await client.get(f"/archives/{archive}")).text
        [following] = re.findall(r'href="([^"]*after=[^"]*)"', first)
        second = (await client.get(following)).text
    numbers = [int(number) for text in (first, second) for number in re.findall(r">part (\d+)\.stl<", text)]
    assert numbers == list(range(1, 601))
