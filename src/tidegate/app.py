"""Puts the house together; the only place that names a concrete platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tidegate.settings import Settings
from tidegate.store.database import Address, Database
from tidegate.store.embedded import Seat
from tidegate.store.upgrade import prepare


@dataclass(frozen=True, slots=True)
class House:
    """An open database and the settings it was opened with."""

    settings: Settings
    database: Database


@asynccontextmanager
async def open_house(settings: Settings) -> AsyncIterator[House]:
    """Open the database, embedded or the operator's own, at the schema this code knows."""
    async with open_address(settings) as address:
        await prepare(address, embedded=settings.database_url is None)
        database = await Database.open(address, connections=settings.database_connections)
        try:
            yield House(settings, database)
        finally:
            await database.close()


@asynccontextmanager
async def open_address(settings: Settings) -> AsyncIterator[Address]:
    """Where the database is; starts the embedded one when no other is named, and leaves it at the end."""
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        direct = settings.database_direct_url.get_secret_value() if settings.database_direct_url else url
        yield Address(url=url, direct=direct)
        return
    seat = await asyncio.to_thread(Seat, settings.home)
    try:
        yield seat.address
    finally:
        await asyncio.to_thread(seat.leave)
