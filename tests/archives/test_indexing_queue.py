"""What is inside archives in the store: kept, found by its words, and asked for again."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest

from tests.archives.contents_builder import keep, reader
from tests.archives.waiting_sets import AT, take, waiting
from tidegate.archives.queries import archive_list, failures, indexing_queue
from tidegate.archives.queries.archive_search import ArchiveFilter
from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.archives.rules.retry import ArchiveFailure, FailureReason
from tidegate.channels.queries import channels
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, MessageId
from tidegate.database.pool import Database
from tidegate.history.queries import deletions, messages
from tidegate.platforms.interface import Message
from tidegate.search.queries.ranked_hits import SearchHit, search
from tidegate.search.rules.query_language import read_query

__all__ = ["reader"]  # a fixture


pytestmark = pytest.mark.both_servers


async def find(database: Database, query: str, most: int = 10) -> tuple[list[SearchHit], bool]:
    async with database.connection() as connection:
        results = await search(connection, read_query(query, lambda time: time.replace(tzinfo=UTC)), most=most)
    return results.found, results.more


async def test_sets_are_taken_one_at_a_time(database: Database, reader: AccountId) -> None:
    """The oldest first, each once; what nobody asked for stays where it is."""
    await waiting(database, "a.zip", "b.rar", "c.zip")
    assert [(await take(database, reader)).name for _ in range(2)] == ["a.zip", "c.zip"]
    async with database.transaction() as connection:
        assert await indexing_queue.take(connection, reader, [ArchiveKind.ZIP]) is None
        assert await indexing_queue.put_back(connection, reader) == 2
    assert (await take(database, reader)).name == "a.zip"


async def test_only_what_is_in_hand_is_ended(database: Database, reader: AccountId) -> None:
    """Contents and failure name the state they expect; the second writer changes nothing.

    Invariant: state-change-with-event.
    """
    await waiting(database, "a.zip")
    taken = await take(database, reader)
    assert await keep(database, taken, "first.stl")
    assert not await keep(database, taken, "second.stl")
    failure = ArchiveFailure(1, FailureReason.DOWNLOAD, 1, AT)
    async with database.transaction() as connection:
        assert not await indexing_queue.fail(connection, taken, failure, "", given_up=False)
        shown = await archive_list.show(connection, taken.archive)
    assert (shown["state"], [one["path"] for one in shown["inside"]]) == ("filed", ["first.stl"])
    assert await database.pool.fetchval("SELECT count(*) FROM failures") == 0
    assert await database.pool.fetchval("SELECT count(*) FROM events WHERE kind LIKE 'archive.%'") == 1


async def test_a_file_is_found_by_the_words_of_its_path(database: Database, reader: AccountId) -> None:
    """Any part of a name between dots, dashes and underscores, from its beginning on, in any case and any script."""
    await waiting(database, "set.zip")
    await keep(database, await take(database, reader), "Red_Dragon-v2/left.wing.STL", "замок/башня.stl")
    for query in ("dragon", "DRAG", "wing stl", "red_dragon", "left.wing.stl", "v2/left", "башня", "замок stl"):
        found, more = await find(database, query)
        assert (len(found), more) == (1, False), query
        assert (found[0].kind, found[0].archive_name, found[0].channel, found[0].id) == ("file", "set.zip", 7, 1)
    for query in ("ragon", "dragon tower", "bash"):
        assert await find(database, query) == ([], False), query


async def test_messages_and_files_are_found_together(database: Database, reader: AccountId) -> None:
    """Newest first over both; a deleted message is not shown, and what lies beyond the limit is announced."""
    await waiting(database, "set.zip")
    await keep(database, await take(database, reader), "tower.stl")
    said = [
        Message(MessageId(number), AT + timedelta(days=number), "Bob", f"tower {number}") for number in range(10, 14)
    ]
    async with database.transaction() as connection:
        key = (await channels.find(connection, "Models")).key
        await messages.store(connection, key, said)
        await deletions.mark_deleted(connection, key, [MessageId(12)])
    found, more = await find(database, "tower")
    assert [(one.kind, one.id) for one in found] == [("message", 13), ("message", 11), ("message", 10), ("file", 1)]
    assert not more
    found, more = await find(database, "tower", most=2)
    assert ([one.id for one in found], more) == ([13, 11], True)


@pytest.mark.parametrize("query", ["", "  ", "...", "'", "!&|()", "\x00"])
async def test_a_search_without_words_is_a_sentence(database: Database, query: str) -> None:
    """bad-input-gets-a-sentence: signs alone find nothing and break nothing."""
    with pytest.raises(BadInput, match="no word"):
        await find(database, query)


@pytest.mark.parametrize("query", ["o'hara", "a & b", "x:*", "\\", "a\\'b", "50%", "<->", "c++ $1"])
async def test_signs_in_a_query_are_no_operators(database: Database, query: str) -> None:
    """Whatever a person types is taken as words."""
    try:
        assert await find(database, query) == ([], False)
    except BadInput:
        assert not any(letter.isalnum() for letter in query)


async def test_failures_are_asked_for_by_hand(database: Database, reader: AccountId) -> None:
    """S-36, S-38: one, all or those of a reason are due now with all their tries again; others stay as they are."""
    await waiting(database, "a.zip", "b.zip", "c.zip", "d.zip")
    reasons = [FailureReason.DOWNLOAD, FailureReason.SIZE_LIMIT, FailureReason.SIZE_LIMIT, FailureReason.SOURCE_GONE]
    numbers = []
    for number, reason in enumerate(reasons, start=1):
        taken = await take(database, reader)
        numbers.append(taken.archive)
        async with database.transaction() as connection:
            failure = ArchiveFailure(number, reason, 5, AT + timedelta(days=7))
            await indexing_queue.fail(connection, taken, failure, "It did not work.", given_up=True)
    async with database.transaction() as connection:
        assert await archive_list.ask_again(connection, reason=FailureReason.SIZE_LIMIT) == numbers[1:3]
        open_ones = await failures.of_reader(connection, reader)
    assert [one.failure.by_hand for one in open_ones] == [False, True, True]
    assert [one.failure.attempts for one in open_ones] == [5, 0, 0]
    async with database.transaction() as connection:
        assert await archive_list.ask_again(connection, [numbers[0]]) == numbers[:1]
        assert await archive_list.ask_again(connection, [numbers[3]]) == []
        listed = await archive_list.listing(connection, ArchiveFilter(), most=10)
    assert [row["state"] for row in listed] == ["gone", "failed", "failed", "failed"]
