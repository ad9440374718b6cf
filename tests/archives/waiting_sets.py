"""Archives that wait to be worked on, put into the database by the queries that the service uses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tidegate.accounts.queries import accounts
from tidegate.archives.queries import archive_sets, indexing_queue
from tidegate.archives.queries.archive_sets import KeptSet
from tidegate.archives.queries.indexing_queue import TakenSet
from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.archives.rules.set_assembly import ArchivePart, place_archive_part
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Standing
from tidegate.core.ids import AccountId, ChannelId
from tidegate.database.pool import Database
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)


async def add_reader(database: Database) -> AccountId:
    """An account that reads one enabled channel, "Models"."""
    async with database.transaction() as connection:
        account = await accounts.add(connection, "reader", TELEGRAM, Standing.NORMAL, loopback=None)
        await channels.see(connection, TELEGRAM, account, [Channel(ChannelId(7), "Models")])
        await channels.enable(connection, await channels.find(connection, "Models"), MirrorOptions())
        await channels.claim_readers(connection, account)
    return account


async def waiting(database: Database, *names: str) -> None:
    """Archives of one file each that wait to be worked on, posted a minute apart."""
    async with database.transaction() as connection:
        key = (await channels.find(connection, "Models")).key
        for number, name in enumerate(names, start=1):
            at = AT + timedelta(minutes=number)
            [one] = place_archive_part([], ArchivePart(number, 100 + number, name, 1_000, at, at, sender="Ada"))
            await archive_sets.save(connection, key, [KeptSet(None, 0, "collecting", one)])
        await connection.execute("UPDATE archives SET state = 'waiting'")


async def take(database: Database, reader: AccountId) -> TakenSet:
    async with database.transaction() as connection:
        taken = await indexing_queue.take(connection, reader, [ArchiveKind.ZIP])
    assert taken is not None
    return taken
