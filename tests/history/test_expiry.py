"""Messages whose time to live has ended: kept as deleted or erased, and never brought back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.held import NOON
from tests.history.message_builder import channel, file
from tests.scans.stored_channels import add_account, add_channel, message
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.message_content import ExpiredMessages, LinkPreview, MessageContent, MessageCounts, MessageKind
from tidegate.database.pool import Connection, Database
from tidegate.history.expiry import end_expired
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import deletions, erasure, message_patches, messages
from tidegate.loopback.database_clock import hold
from tidegate.platforms.interface import ChannelUpdates, FileRole, Message, Patch, Reacted, Reaction, Recounted
from tidegate.scans.queries import scan_memory

pytestmark = pytest.mark.both_servers

KEEP, ERASE = ExpiredMessages.KEEP, ExpiredMessages.ERASE
ONE = MessageId(1)
EXPIRED = NOON + timedelta(hours=1)


def expiring(number: int, *, hours: int = 1, text: str = "burn after reading") -> Message:
    """A message that expires so many hours after it was posted."""
    content = MessageContent(expires_at=NOON + timedelta(hours=hours), preview=LinkPreview("https://x", title="Secret"))
    return replace(
        message(number, text),
        content=content,
        kind=MessageKind.FILE,
        files=[file(number, "plans.pdf")],
        counts=MessageCounts(views=3),
        reactions=[Reaction("👍", 1)],
        raw={"media": {"_": "MessageMediaWebPage", "secret": "Secret"}},
        author_id=7,
    )


async def end(connection: Connection, outcome: ExpiredMessages, *, at: datetime = EXPIRED, limit: int = 100) -> int:
    return await end_expired(connection, at, limit=limit, outcome=outcome)


async def row_of(connection: Connection, number: int = 1) -> dict[str, Any]:
    row = await connection.fetchrow("SELECT * FROM messages WHERE id = $1", number)
    assert row is not None
    return dict(row)


async def everything(connection: Connection) -> str:
    """All that the database has of messages, as text."""
    tables = ("messages", "message_revisions", "attachments", "early_deletions", "archives", "archive_parts")
    return str([await connection.fetchval(f"SELECT json_agg(t)::text FROM {table} t") for table in tables])


class TestKept:
    async def test_it_is_marked_as_deleted_and_its_text_stays(self, database: Database) -> None:
        """Exactly when it expired, once, and without what has more time left or none to live."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [expiring(1), expiring(2, hours=2), message(3)])
            assert await end(connection, KEEP, at=EXPIRED - timedelta(seconds=1)) == 0
            assert await end(connection, KEEP) == 1
            assert await end(connection, KEEP) == 0
            rows = [await row_of(connection, number) for number in (1, 2, 3)]
            assert [row["deleted_at"] is not None for row in rows] == [True, False, False]
            assert (rows[0]["text"], rows[0]["erased_at"]) == ("burn after reading", None)
            assert await messages.count(connection, key) == 2

    async def test_few_at_a_time_and_one_channel_at_a_time(self, database: Database) -> None:
        """However many expired at once, no transaction holds more than that."""
        async with database.transaction() as connection:
            reader = await add_account(connection, "reader")
            for number in (7, 8):
                key = (await add_channel(connection, reader, number)).key
                await messages.store(connection, key, [expiring(one) for one in (1, 2, 3)])
            assert [await end(connection, KEEP, limit=2) for _ in range(5)] == [2, 1, 2, 1, 0]

    async def test_a_page_that_still_shows_it_does_not_restore_it(self, database: Database) -> None:
        """The platform may delete it a little later; a message that did not expire comes back as ever."""
        await hold(database, EXPIRED)
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [expiring(1), message(2)])
            await end(connection, KEEP)
            await deletions.mark_deleted(connection, key, [MessageId(2)])
            asked = EXPIRED + timedelta(minutes=1)
            stored = await messages.store(connection, key, [expiring(1), message(2)], asked_at=asked)
            assert stored.changed == {2}
            assert (await row_of(connection))["deleted_at"] is not None

    async def test_a_part_of_an_archive_goes_with_it(self, database: Database) -> None:
        """As with any deletion: a set that nobody works on loses the part."""
        async with database.transaction() as connection:
            kept = await add_channel(connection, reader := await add_account(connection, "reader"))
            memory = await scan_memory.load(connection, reader, RetryPolicy(), only=[ChannelId(kept.number)])
            place = next(one for one in memory.places if one.is_channel)
            offered = replace(expiring(1), files=[file(1, "plans.zip")])
            await take_in(connection, place, ChannelUpdates(None, posted=[offered]), reader, IngestTally())
            assert await connection.fetchval("SELECT count(*) FROM archive_parts") == 1
            await end(connection, KEEP)
            assert await connection.fetchval("SELECT count(*) FROM archive_parts") == 0


class TestErased:
    async def test_nothing_of_it_is_left_but_its_place(self, database: Database) -> None:
        """Text, earlier texts, files, words, numbers, author and what the platform sent: all are gone."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [expiring(1, text="first secret")])
            await messages.store(connection, key, [replace(expiring(1), edited_at=NOON + timedelta(minutes=1))])
            assert await end(connection, ERASE) == 1
            assert await end(connection, ERASE) == 0
            left = await everything(connection)
            assert [word for word in ("burn", "ecret", "plans", "Ada", "👍") if word in left] == []
            row = await row_of(connection)
            assert (row["at"], row["raw"], row["counts"], row["words"]) == (NOON, None, None, "")
            assert row["deleted_at"] is not None
            assert row["erased_at"] is not None
            assert await connection.fetchval("SELECT count(*) FROM messages") == 1

    async def test_one_that_was_deleted_or_kept_before_is_erased_too(self, database: Database) -> None:
        """The platform may announce the deletion, or the operator may change the setting; the time of it stays."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [expiring(1), expiring(2)])
            await deletions.mark_deleted(connection, key, [ONE])
            await end(connection, KEEP)
            before = [(await row_of(connection, number))["deleted_at"] for number in (1, 2)]
            assert await end(connection, ERASE) == 2
            assert [(await row_of(connection, number))["deleted_at"] for number in (1, 2)] == before
            assert "ecret" not in await everything(connection)

    async def test_nothing_brings_it_back(self, database: Database) -> None:
        """Neither a page, an edit, a patch, a reaction nor numbers, however late they are."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [expiring(1)])
            await end(connection, ERASE)
            before = await row_of(connection)
            later = datetime.max.replace(tzinfo=NOON.tzinfo)
            edit = replace(expiring(1), edited_at=NOON + timedelta(days=1))
            preview = replace(file(9, "preview.jpg"), role=FileRole.PREVIEW)
            shown = replace(expiring(1), further_files=[preview])
            for version in (expiring(1), edit, replace(edit, content=MessageContent()), shown):
                assert not (await messages.store(connection, key, [version], asked_at=later)).changed
                assert not (await messages.store(connection, key, [version])).changed
            patches = [Patch(ONE, text="b", edited_at=NOON + timedelta(days=2)), Patch(ONE, whole=edit)]
            await messages.store(connection, key, await message_patches.versions(connection, key, patches))
            await message_patches.react(connection, key, [Reacted(ONE, "👍", 1)])
            counted = Recounted(ONE, reactions=[Reaction("👍", 2)], counts=MessageCounts(views=9))
            await message_patches.recount(connection, key, [counted])
            assert await row_of(connection) == before
            assert await connection.fetchval("SELECT count(*) FROM attachments") == 0

    async def test_a_copied_archive_keeps_its_name_and_forgets_who_sent_it(self, database: Database) -> None:
        """The copy stays, and is found by what is in it."""
        async with database.transaction() as connection:
            kept = await add_channel(connection, reader := await add_account(connection, "reader"))
            memory = await scan_memory.load(connection, reader, RetryPolicy(), only=[ChannelId(kept.number)])
            place = next(one for one in memory.places if one.is_channel)
            offered = replace(expiring(1), author="Ada", files=[file(1, "plans.zip")])
            await take_in(connection, place, ChannelUpdates(None, posted=[offered]), reader, IngestTally())
            await connection.execute("UPDATE archives SET state = 'filed'")
            assert "Ada" in await everything(connection)
            await end(connection, ERASE)
            left = await everything(connection)
            assert ("Ada" in left, "plans.zip" in left) == (False, True)

    async def test_any_message_can_be_erased_by_its_number(self, database: Database) -> None:
        """Whether it expires or not; one that is not stored is not made up."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [message(1, "secret"), message(2, "open")])
            assert await erasure.erase(connection, key, [ONE, MessageId(9)]) == [ONE]
            assert await erasure.erase(connection, key, [ONE]) == []
            left = await everything(connection)
            assert ("secret" in left, "open" in left) == (False, True)
            assert await connection.fetchval("SELECT count(*) FROM messages") == 2
