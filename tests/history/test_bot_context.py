"""The newest messages of a channel as they are stored, and from where on the history is complete."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.held import NOON
from tests.history.rich_messages import everything, file
from tests.history.stored_messages import kept, said
from tests.scans.stored_channels import add_account, add_channel
from tests.waiting import until
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId, Span
from tidegate.core.message_content import Embed, Forward, MessageContent, MessageKind, OriginKind
from tidegate.database.pool import Connection, Database
from tidegate.history.queries import coverage, messages
from tidegate.history.queries.bot_context import Context, ContextBounds, read
from tidegate.history.rules.coverage import Content
from tidegate.platforms.interface import FileForm, FileRole
from tidegate.scans.queries import scan_memory

__all__ = ["kept"]  # a fixture


pytestmark = pytest.mark.both_servers

WAITS_FOR_COVERAGE = """
    SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'coverage'::regclass AND NOT granted
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""


def here(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


async def context(connection: Connection, kept: KnownChannel, bounds: ContextBounds | None = None) -> Context:
    return await read(connection, kept, bounds or ContextBounds(), here)


async def lines(connection: Connection, kept: KnownChannel, bounds: ContextBounds | None = None) -> list[str]:
    """What is told, without the age of each message."""
    found = await context(connection, kept, bounds)
    return [one["line"].partition("] ")[2] for one in found.messages]


class TestLines:
    async def test_a_channel_as_a_bot_reads_it(self, database: Database, kept: KnownChannel) -> None:
        """Oldest first: who wrote what to whom, what was edited, and what was deleted."""
        async with database.connection() as connection:
            assert await lines(connection, kept) == [
                "Ada(3): which tower?",
                "Bobby(5): ↪ Ada: which tower? | that one",
                "Ada(3): ↪ a message that is not stored | and that? (edited)",
                "Ada(3): (deleted)",
            ]

    async def test_what_a_message_holds_is_told(self, database: Database, kept: KnownChannel) -> None:
        """What it quotes and where it comes from, its files, polls and cards; a script gets all of its fields."""
        joined = MessageContent(service="Ada joined the group")
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [everything(5)])
            photo = replace(said(6, ""), kind=MessageKind.PHOTO, reply_to=MessageId(5))
            service = replace(said(7, ""), kind=MessageKind.SERVICE, service="Join", content=joined)
            answer = replace(said(8, "nice"), reply_to=MessageId(6))
            await messages.store(connection, kept.key, [photo, service, answer])
        async with database.connection() as connection:
            told = (await lines(connection, kept))[-4:]
            assert told == [
                "Bob(502): ↪ Ada: which tower | [forwarded from Sea News (Carl)] Bold and italic, code, a spoiler, and "
                "a link to read. [voice 0:12] [poll: Where shall we meet? | At the pier 3 | At the lighthouse 1] "
                "[embed: Forecast] [link: Tide tables] [text: Read more]",
                "Ada(3): ↪ Bob: Bold and italic, code, a spoiler, and a… | [photo]",
                "Ada(3): (Ada joined the group)",
                "Ada(3): ↪ Ada: [photo] | nice",
            ]
            document = (await context(connection, kept)).as_json()["messages"][-4]
        assert (document["kind"], document["poll"]["voters"], document["forwarded_from"]["name"]) == (
            "voice", 4, "Sea News",
        )  # fmt: skip
        assert (document["files"], document["attachments"][0]["form"]) == ([""], "voice")

    async def test_what_a_forward_holds_is_told(self, database: Database, kept: KnownChannel) -> None:
        """Discord keeps a forwarded message apart: its text, files and cards are told as if they were its own."""
        plans = replace(file(9, "plans.zip", FileForm.FILE), role=FileRole.FORWARD)
        forward = Forward(OriginKind.CHANNEL, "News", text="look", embeds=(Embed(title="Forecast"),))
        told = replace(said(5, ""), kind=MessageKind.FILE, content=MessageContent(forward=forward))
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [replace(told, further_files=(plans,))])
        async with database.connection() as connection:
            assert (await lines(connection, kept))[-1] == (
                "Ada(3): [forwarded from News] look [file plans.zip] [embed: Forecast]"
            )

    async def test_what_was_deleted_is_told_when_it_is_asked_for(self, database: Database, kept: KnownChannel) -> None:
        """Hidden, neither its text nor its files nor a quotation of it is told."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [replace(said(5, "what?"), reply_to=MessageId(4))])
        async with database.connection() as connection:
            hidden = await context(connection, kept)
            assert "never" not in str(hidden.as_json())
            assert (await lines(connection, kept))[-1] == "Ada(3): ↪ Ada: (deleted) | what?"
            told = await lines(connection, kept, ContextBounds(deleted=True))
            assert told[-2:] == ["Ada(3): never mind (deleted)", "Ada(3): ↪ Ada: never mind | what?"]

    async def test_the_newest_within_the_bounds(self, database: Database, kept: KnownChannel) -> None:
        """So many messages, so many characters, and none from the given one on."""
        async with database.connection() as connection:
            assert await lines(connection, kept, ContextBounds(limit=2)) == (await lines(connection, kept))[-2:]
            assert await lines(connection, kept, ContextBounds(before=MessageId(2))) == ["Ada(3): which tower?"]
            short = await context(connection, kept, ContextBounds(chars=60))
            assert [one["id"] for one in short.messages] == [4]
            assert sum(len(one["line"]) + 1 for one in short.messages) <= 60

    async def test_the_order_is_the_platforms(self, database: Database, kept: KnownChannel) -> None:
        """By number: two of one second, or one whose clock was wrong, stay where the platform put them."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [replace(said(9, "late"), at=NOON - timedelta(days=9))])
        async with database.connection() as connection:
            assert [one["id"] for one in (await context(connection, kept)).messages] == [1, 2, 3, 4, 9]

    async def test_a_message_for_a_script(self, database: Database, kept: KnownChannel) -> None:
        """The contract's shape, and what a script needs to go on from."""
        async with database.connection() as connection:
            document = (await context(connection, kept)).as_json()
        assert document.keys() == {"channel", "title", "messages", "incomplete_before"}
        third = document["messages"][2]
        assert (third["id"], third["author_id"], third["reply_to"], third["revisions"]) == (3, 3, 99, 1)
        assert (document["messages"][3]["text"], document["messages"][3]["files"]) == (None, [])


class TestIncomplete:
    async def cover(self, connection: Connection, kept: KnownChannel, *spans: Span) -> None:
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
        self, database: Database, kept: KnownChannel, spans: list[Span], before: int | None, incomplete: int | None
    ) -> None:
        """H-46: from that message on all is there; None when all is there from the first one on."""
        async with database.transaction() as connection:
            await self.cover(connection, kept, *spans)
        async with database.connection() as connection:
            bounds = ContextBounds(before=None if before is None else MessageId(before))
            found = await context(connection, kept, bounds)
            assert found.incomplete_before == incomplete
            note = [] if incomplete is None else [f"(history is incomplete before {incomplete})"]
            assert found.lines == [*note, *(one["line"] for one in found.messages)]

    async def test_messages_and_completeness_are_of_one_moment(self, database: Database, kept: KnownChannel) -> None:
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

    async def test_a_head_that_is_known_but_not_read_is_missing(self, database: Database, kept: KnownChannel) -> None:
        """The gate saw a newer message than any that is stored: the newest are incomplete too."""
        async with database.transaction() as connection:
            await self.cover(connection, kept, Span(0, 4))
            [place] = await scan_memory.shown(connection, kept.key)
            memory = replace(scan_memory.memory_of(place), newest_seen=7)
            await scan_memory.remember(connection, {(kept.key, 0): (memory, None)})
        async with database.connection() as connection:
            assert (await context(connection, kept)).incomplete_before == 8

    async def test_an_empty_channel_lacks_nothing(self, database: Database) -> None:
        """H-11: where no message was ever seen, none is missing."""
        async with database.transaction() as connection:
            empty = await add_channel(connection, await add_account(connection, "reader"))
        async with database.connection() as connection:
            found = await context(connection, empty)
            assert (found.lines, found.incomplete_before) == ([], None)
