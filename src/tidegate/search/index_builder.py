"""Builds the indexes of search that an upgrade left out because a table has many messages.

Messages are read, written and searched meanwhile; searches are slower until the indexes are there. What an interrupted
build left is built anew, and an index that is finished stays.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import structlog

from tidegate.core.clock import Clock
from tidegate.database.pool import TROUBLE, Database
from tidegate.search.queries import search_indexes

_REPORT_EVERY = timedelta(seconds=30)
_RETRY_EVERY = timedelta(minutes=1)

log = structlog.get_logger()


async def keep_indexes(database: Database, clock: Clock) -> None:
    """Build what is missing, however often it has to be begun again; ends when nothing is."""
    while True:
        try:
            if await build_missing(database, clock):
                return
        except TROUBLE as problem:
            log.warning("search.index_delayed", why=str(problem))
        await clock.sleep(_RETRY_EVERY)


async def build_missing(database: Database, clock: Clock) -> bool:
    """Build the indexes that are missing; False when another process is building them."""
    async with database.connection() as connection:
        if not await search_indexes.missing(connection) and not await search_indexes.is_replaced_there(connection):
            return True
    builder = await database.direct(f"{database.name} search")
    try:
        if not await search_indexes.try_alone(builder):
            return False
        for name in await search_indexes.missing(builder):
            log.info("search.index_begun", index=name, note="searches are slower until it is finished")
            reporting = asyncio.create_task(_report(database, clock, name))
            try:
                await search_indexes.build(builder, name)
            finally:
                reporting.cancel()
            log.info("search.index_finished", index=name)
        await search_indexes.drop_replaced(builder)
        return True
    finally:
        builder.terminate()


async def _report(database: Database, clock: Clock, name: str) -> None:
    while True:
        await clock.sleep(_REPORT_EVERY)
        with suppress(*TROUBLE):
            async with database.connection() as connection:
                log.info("search.index_progress", index=name, at=await search_indexes.progress(connection))
