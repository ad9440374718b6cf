"""Taking in what a page or a piece of news brings, of either platform: messages and the archives among them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.history.message_builder import LATER, LATEST, ONE, file, texts
from tests.scans.stored_channels import POLICY, add_account, add_channel, message
from tidegate.core.ids import AccountId, MessageId
from tidegate.database.pool import Database
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import messages
from tidegate.platforms.interface import ChannelUpdates, FileRole, Message, Patch, Reacted, Reaction
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import ScanPlace

ZIP = replace(message(1, "a tower"), files=[file(5, "tower.zip")])


@pytest.fixture
async def place(database: Database) -> ScanPlace:
    """A channel that is mirrored, of which nothing is known yet."""
    async with database.transaction() as connection:
        account = await add_account(connection, "reader")
        await add_channel(connection, account)
        [found] = (await scan_memory.load(connection, account, POLICY)).places
    return found


async def take(
    database: Database, place: ScanPlace, news: ChannelUpdates, *, asked_at: datetime | None = None
) -> IngestTally:
    tally = IngestTally()
    async with database.transaction() as connection:
        await take_in(connection, place, news, AccountId(1), tally, asked_at=asked_at)
    return tally


def posted(*messages: Message) -> ChannelUpdates:
    return ChannelUpdates(None, posted=messages)


async def parts(database: Database) -> list[str]:
    rows = await database.pool.fetch("SELECT name FROM archive_parts ORDER BY message, file")
    return [row["name"] for row in rows]


async def test_news_is_applied_in_its_order(database: Database, place: ScanPlace) -> None:
    """H-33, H-34, H-36: posted, edited, patched, reacted, deleted; a late patch changes nothing."""
    edited = replace(ZIP, text="the tower", edited_at=LATER)
    patches = [Patch(ONE, edited_at=LATEST, text="towers"), Patch(ONE, edited_at=LATER, text="late")]
    news = ChannelUpdates(None, posted=[ZIP], edited=[edited], patched=patches, reacted=[Reacted(ONE, "👍", 1)])
    tally = await take(database, place, news)
    async with database.connection() as connection:
        assert await texts(connection) == ["a tower", "the tower", "towers"]
        assert await connection.fetchval("SELECT reactions FROM messages") == {"👍": 1}
    assert (tally.messages, tally.archives, await parts(database)) == (1, 1, ["tower.zip"])


@pytest.mark.parametrize("edited_at", [None, LATER], ids=["preview", "edit"])
async def test_an_event_without_reactions_leaves_them(
    database: Database, place: ScanPlace, edited_at: datetime | None
) -> None:
    """Discord may send a whole message without its reactions: they stay with their pictures, and all else is new."""
    picture = replace(file(9, "wave:9"), role=FileRole.REACTION)
    before = replace(message(1, "a tower"), reactions=[Reaction("wave:9", 3)], further_files=(picture,))
    await take(database, place, posted(before))
    whole = replace(message(1, "the tower"), edited_at=edited_at)
    await take(database, place, ChannelUpdates(None, patched=[Patch(ONE, edited_at=edited_at, whole=whole)]))
    row = await database.pool.fetchrow("SELECT text, reactions FROM messages")
    assert dict(row) == {"text": "the tower", "reactions": {"wave:9": 3}}
    assert await database.pool.fetchval("SELECT name FROM attachments") == "wave:9"
    told = Patch(ONE, edited_at=edited_at, whole=whole, reactions=[])
    await take(database, place, ChannelUpdates(None, patched=[told]))
    assert await database.pool.fetchval("SELECT reactions FROM messages") == {}


async def test_a_part_of_a_message_leaves_its_archive_alone(database: Database, place: ScanPlace) -> None:
    """H-35: a preview or an edited text says nothing of files, so the set and its handle stay."""
    await take(database, place, posted(ZIP))
    patch = Patch(ONE, edited_at=LATER, text="new words")
    tally = await take(database, place, ChannelUpdates(None, patched=[patch, Patch(ONE, raw={"embeds": []})]))
    assert (tally.messages, tally.archives, await parts(database)) == (0, 0, ["tower.zip"])
    assert await database.pool.fetchval("SELECT handle FROM archive_parts") == "h"


async def test_a_file_known_from_the_store_alone_has_no_handle(database: Database, place: ScanPlace) -> None:
    """Collected late, by a part of its message that brings no handle: none is better than one that opens nothing."""
    async with database.transaction() as connection:
        await messages.store(connection, place.key, [ZIP])
    await take(database, place, ChannelUpdates(None, patched=[Patch(ONE, edited_at=LATER, text="new words")]))
    assert await parts(database) == ["tower.zip"]
    assert await database.pool.fetchval("SELECT handle FROM archive_parts") is None


async def test_a_file_that_an_edit_took_away_leaves_its_set(database: Database, place: ScanPlace) -> None:
    """Of several files each is a part of its own; the one that is gone is gone from the set, the others stay."""
    two = replace(ZIP, files=[file(5, "tower.zip"), file(6, "wall.zip")])
    await take(database, place, posted(two))
    assert await parts(database) == ["tower.zip", "wall.zip"]
    await take(database, place, ChannelUpdates(None, patched=[Patch(ONE, edited_at=LATER, files=two.files[1:])]))
    assert await parts(database) == ["wall.zip"]


async def test_a_message_deleted_before_it_came_brings_no_archive(database: Database, place: ScanPlace) -> None:
    """Order does not matter: nothing is collected of what is gone, and it is not counted as new."""
    await take(database, place, ChannelUpdates(None, deleted=[ONE]))
    tally = await take(database, place, posted(ZIP))
    assert (tally.messages, tally.archives, await parts(database)) == (0, 0, [])


async def test_a_page_asked_for_later_brings_message_and_archive_back(database: Database, place: ScanPlace) -> None:
    """A deletion that was told wrongly is healed by the platform's own later word, and by nothing else."""
    await take(database, place, posted(ZIP))
    asked_before = datetime.now(UTC) - timedelta(minutes=1)
    await take(database, place, ChannelUpdates(None, deleted=[ONE]))
    await take(database, place, posted(ZIP))
    await take(database, place, posted(ZIP), asked_at=asked_before)
    assert await parts(database) == []
    await take(database, place, posted(ZIP), asked_at=datetime.now(UTC) + timedelta(minutes=1))
    assert await parts(database) == ["tower.zip"]
    assert await database.pool.fetchval("SELECT deleted_at FROM messages") is None


async def test_many_deletions_are_one_transaction(database: Database, place: ScanPlace) -> None:
    """H-32: a hundred at once are a hundred tombstones, all of one instant's transaction."""
    numbers = [MessageId(number) for number in range(1, 101)]
    await take(database, place, posted(*(message(number) for number in numbers)))
    await take(database, place, ChannelUpdates(None, deleted=numbers))
    rows = await database.pool.fetch("SELECT DISTINCT xmin::text FROM messages WHERE deleted_at IS NOT NULL")
    assert len(rows) == 1
    assert await database.pool.fetchval("SELECT count(*) FROM messages WHERE deleted_at IS NOT NULL") == 100
