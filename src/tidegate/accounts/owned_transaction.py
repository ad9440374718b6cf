"""Writes for an account, which only its owner may commit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim
from tidegate.database.pool import Connection, Database


@asynccontextmanager
async def owned_transaction(database: Database, claim: Claim) -> AsyncIterator[Connection]:
    """A transaction for the account of *claim*, refused once another worker has taken it (one-owner-per-account)."""
    async with database.transaction() as connection:
        await accounts.fence(connection, claim)
        yield connection
