"""A channel with a few messages."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.held import NOON
from tests.scans.stored_channels import add_account, add_channel
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId
from tidegate.database.pool import Database
from tidegate.history.queries import deletions, messages
from tidegate.platforms.interface import Message


def said(number: int, text: str, author: str = "Ada") -> Message:
    return Message(MessageId(number), NOON + timedelta(seconds=number), author, text, author_id=len(author))


@pytest.fixture
async def kept(database: Database) -> KnownChannel:
    """A channel in which Ada wrote, Bob answered, and one of them was sorry."""
    async with database.transaction() as connection:
        found = await add_channel(connection, await add_account(connection, "reader"))
        answer = replace(said(2, "that one", "Bobby"), reply_to=MessageId(1))
        lost = replace(said(3, "and this?"), reply_to=MessageId(99))
        await messages.store(connection, found.key, [said(1, "which tower?"), answer, lost, said(4, "never mind")])
        await messages.store(
            connection, found.key, [replace(said(3, "and that?"), reply_to=MessageId(99), edited_at=NOON)]
        )
        await deletions.mark_deleted(connection, found.key, [MessageId(4)])
    return found
