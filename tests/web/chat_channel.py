"""A channel to chat in, and how its messages and their authors are stored."""

from __future__ import annotations

import pytest

from tests.scans.stored_channels import add_account, add_channel
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Connection, Database
from tidegate.history.queries import messages
from tidegate.people.queries import people
from tidegate.platforms.interface import Message


@pytest.fixture
async def harbour(database: Database) -> KnownChannel:
    """A channel without messages."""
    async with database.transaction() as connection:
        return await add_channel(connection, await add_account(connection, "reader"))


async def store(connection: Connection, harbour: KnownChannel, *stored: Message) -> None:
    await messages.store(connection, harbour.key, stored)
    await people.store(connection, harbour.key, [one.person for one in stored if one.person is not None])
