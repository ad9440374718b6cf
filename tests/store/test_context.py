"""The newest messages of a channel as they are stored, and from where on the history is complete."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.held import NOON
from tests.store.test_mirror import add_account, add_channel
from tests.waiting import until
from tidegate.port import Message, MessageId
from tidegate.rules.history import Content, Span
from tidegate.store import coverage, messages, places
from tidegate.store.channels import Kept
from tidegate.store.context import Bounds, Context, read
from tidegate.store.database import Connection, Database

WAITS_FOR_COVERAGE = """
    SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'coverage'::regclass AND NOT granted
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""


def here(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


async def context(connection: Connection, kept: Kept, bounds: Bounds | None = None) -> Context:
    return await read(connection, kept, bounds or Bounds(), here)


async def lines(connection: Connection, kept: Kept, bounds: Bounds | None = None) -> list[str]:
    """What is told, without the age of each message."""
    found = await context(connection, kept, bounds)
    return [one["line"].partition("] ")[2] for one in found.messages]


def said(number: int, text: str, author: str = "Ada") -> Message:
    return Message(MessageId(number), NOON + timedelta(seconds=number), author, text, author_id=len(author))


@pytest.fixture
async def kept(database: Database) -> Kept:
    """A channel in which Ada wrote, Bob answered, and one of them was sorry."""
    async with database.transaction() as connection:
        found = await add_channel(connection, await add_account(connection, "reader"))
        answer = replace(said(2, "that one", "Bobby"), reply_to=MessageId(1))
        lost = replace(said(3, "and this?"), reply_to=MessageId(99))
        await messages.store(connection, found.key, [said(1, "which tower?"), answer, lost, said(4, "never mind")])
        await messages.store(
            connection, found.key, [replace(said(3, "and that?"), reply_to=MessageId(99), edited_at=NOON)]
        )
        await messages.bury(connection, found.key, [MessageId(4)])
    return found


class TestLines:
    async def test_a_channel_as_a_bot_reads_it(self, database: Database, kept: Kept) -> None:
        """Oldest first: who wrote what to whom, what was edited, and what was deleted."""
        async with database.connection() as connection:
            assert await lines(connection, kept) == [
                "Ada(3): which tower?",
                "Bobby(5): ↪ Ada: which tower? | that one",
                "Ada(3): ↪ a message that is not stored | and that? (edited)",
                "Ada(3): (deleted)",
            ]

    async def test_what_was_deleted_is_told_when_it_is_asked_for(self, database: Database, kept: Kept) -> None:
        """Hidden, neither its text nor its files nor a quotation of it is told."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [replace(said(5, "what?"), reply_to=MessageId(4))])
        async with database.connection() as connection:
            hidden = await context(connection, kept)
            assert "never" not in str(hidden.as_json())
            assert (await lines(connection, kept))[-1] == "Ada(3): ↪ Ada: (deleted) | what?"
            told = await lines(connection, kept, Bounds(deleted=True))
            assert told[-2:] == ["Ada(3): never mind (deleted)", "Ada(3): ↪ Ada: never mind | what?"]

    async def test_the_newest_within_the_bounds(self, database: Database, kept: Kept) -> None:
        """So many messages, so many characters, and none from the given one on."""
        async with database.connection() as connection:
            assert await lines(connection, kept, Bounds(limit=2)) == (await lines(connection, kept))[-2:]
            assert await lines(connection, kept, Bounds(before=MessageId(2))) == ["Ada(3): which tower?"]
            short = await context(connection, kept, Bounds(chars=60))
            assert [one["id"] for one in short.messages] == [4]
            assert sum(len(one["line"]) + 1 for one in short.messages) <= 60

    async def test_the_order_is_the_platforms(self, database: Database, kept: Kept) -> None:
        """By number: two of one second, or one whose clock was wrong, stay where the platform put them."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [replace(said(9, "late"), at=NOON - timedelta(days=9))])
        async with database.connection() as connection:
            assert [one["id"] for one in (await context(connection, kept)).messages] == [1, 2, 3, 4, 9]

    async def test_a_message_for_a_script(self, database: Database, kept: Kept) -> None:
        """The contract's shape, and what a script needs to go on from."""
        async with database.connection() as connection:
            document = (await context(connection, kept)).as_json()
        assert document.keys() == {"channel", "title", "messages", "incomplete_before"}
        third = document["messages"][2]
        assert (third["id"], third["author_id"], third["reply_to"], third["revisions"]) == (3, 3, 99, 1)
        assert (document["messages"][3]["text"], document["messages"][3]["files"]) == (None, [])


class TestIncomplete:
    async def cover(self, connection: Connection, kept: Kept, *spans: Span) -> None:
        for span in spans:
            await coverage.add(connection, kept.key, {Content.MESSAGES: span})

    @pytest.mark.parametrize(
        ("spans", "before", "incomplete"),
        [
            ([], None, 5),
            ([Span(0, 4)], None, None),
            ([Span(2, 4)], None, 2),
            ([Span(0, 1), Span(3, 4)], None, 3),
            ([Span(0, 3)], None, 5),
            ([Span(0, 3)], 4, None),
            ([Span(2, 4)], 2, 2),
            ([Span(0, 4)], 1_000, None),
        ],
    )
    async def test_it_says_where_history_is_incomplete(
        self, database: Database, kept: Kept, spans: list[Span], before: int | None, incomplete: int | None
    ) -> None:
        """H-46: from that message on all is there; None when all is there from the first one on."""
        async with database.transaction() as connection:
            await self.cover(connection, kept, *spans)
        async with database.connection() as connection:
            bounds = Bounds(before=None if before is None else MessageId(before))
            found = await context(connection, kept, bounds)
            assert found.incomplete_before == incomplete
            note = [] if incomplete is None else [f"(history is incomplete before {incomplete})"]
            assert found.lines == [*note, *(one["line"] for one in found.messages)]

    async def test_messages_and_completeness_are_of_one_moment(self, database: Database, kept: Kept) -> None:
        """H-46: a page that is stored while somebody reads makes no answer claim what it does not hold."""
        async with database.transaction() as writer:
            await writer.execute("LOCK TABLE coverage")
            async with database.connection() as reader:
                reading = asyncio.create_task(context(reader, kept))
                await until(lambda: database.pool.fetchval(WAITS_FOR_COVERAGE))
                await messages.store(writer, kept.key, [said(5, "new")])
                await self.cover(writer, kept, Span(0, 5))
                await writer.execute("COMMIT; BEGIN")
                found = await reading
        assert ([one["id"] for one in found.messages], found.incomplete_before) == ([1, 2, 3, 4], 5)

    async def test_a_head_that_is_known_but_not_read_is_missing(self, database: Database, kept: Kept) -> None:
        """The gate saw a newer message than any that is stored: the newest are incomplete too."""
        async with database.transaction() as connection:
            await self.cover(connection, kept, Span(0, 4))
            [place] = await places.shown(connection, kept.key)
            memory = replace(places.memory_of(place), newest_seen=7)
            await places.remember(connection, {(kept.key, 0): (memory, None)})
        async with database.connection() as connection:
            assert (await context(connection, kept)).incomplete_before == 8

    async def test_an_empty_channel_lacks_nothing(self, database: Database) -> None:
        """H-11: where no message was ever seen, none is missing."""
        async with database.transaction() as connection:
            empty = await add_channel(connection, await add_account(connection, "reader"))
        async with database.connection() as connection:
            found = await context(connection, empty)
            assert (found.lines, found.incomplete_before) == ([], None)
