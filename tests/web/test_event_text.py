"""Events and progress in words; the events are recorded by the code that records them in service."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest

from tests.archives.waiting_sets import add_reader, take, waiting
from tests.recorded_events import can_be_told, unknown_event
from tests.web.visiting import sign_in, visiting
from tidegate.access.queries import page_sessions, tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.accounts.queries import accounts
from tidegate.archives.queries import archive_list, archive_pauses, indexing_queue
from tidegate.archives.rules.contained_file import ContainedFile
from tidegate.archives.rules.retry import ArchiveFailure, FailureReason
from tidegate.channels.queries import channels
from tidegate.core.account import AccountState, Standing
from tidegate.core.ids import AccountId
from tidegate.cycles.cycle_report import CycleReport
from tidegate.database.pool import Database
from tidegate.events.event_data import EventData
from tidegate.events.kinds import KINDS
from tidegate.events.kinds.archives import ArchiveProgressed
from tidegate.events.kinds.history import BackfillProgressed
from tidegate.events.queries import feed
from tidegate.maintenance import database_copies
from tidegate.reminders.queries import target_lists
from tidegate.web.live.event_sentences import ProgressBar, bar, command_words, event_summary, event_words
from tidegate.web.pages.queries.home import WorkProgress

LATER = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
NEXT_TRY = "Next try at 2026-03-01 12:00:05 UTC."
OWN_NUMBER = {"archive", "channel", "run"}


@pytest.fixture
async def reader(database: Database) -> AccountId:
    """An account that reads one enabled channel."""
    return await add_reader(database)


async def words_of(database: Database, kind: str) -> list[str]:
    """What the activity on Home says of the events of a kind, oldest first."""
    await can_be_told(database)
    async with database.connection() as connection:
        found = [event_summary(event) for event in await feed.newest(connection, 100) if event.kind == kind]
    return found[::-1]


async def fail_archive(database: Database, reader: AccountId, detail: str, *, given_up: bool = False) -> None:
    taken = await take(database, reader)
    failure = ArchiveFailure(1, FailureReason.DOWNLOAD, 1, LATER)
    async with database.transaction() as connection:
        assert await indexing_queue.fail(connection, taken, failure, detail, given_up=given_up)


class TestArchives:
    async def test_a_failed_archive_says_why(self, database: Database, reader: AccountId) -> None:
        """The platform's own sentence where there is one, else that of the reason; and whether it is tried again."""
        await waiting(database, "a.zip", "b.zip", "c.zip")
        await fail_archive(database, reader, "The line broke.")
        await fail_archive(database, reader, "")
        await fail_archive(database, reader, "The line broke.", given_up=True)
        assert await words_of(database, "archive.failed") == [
            f"The line broke. {NEXT_TRY}",
            f"The file did not arrive whole. {NEXT_TRY}",
            "The line broke. It was given up.",
        ]

    async def test_home_shows_it(self, database: Database, reader: AccountId) -> None:
        """The reason of a failure is on the page that the operator opens first."""
        await waiting(database, "a.zip")
        await fail_archive(database, reader, "The line broke.")
        async with visiting(database) as client:
            await sign_in(client, database)
            await can_be_told(database)
            assert "The line broke." in (await client.get("/")).text

    async def test_what_else_happens_to_them(self, database: Database, reader: AccountId) -> None:
        """What is inside, how many volumes are there, what was asked for again, and what keeps all of them waiting."""
        await waiting(database, "a.zip", "b.zip", "c.zip")
        async with database.transaction() as connection:
            await archive_pauses.note_full_disk(connection, reader, "host", "The disk is full.", needed=1)
            await archive_pauses.note_no_process(connection, reader, "host", "No process.")
        await fail_archive(database, reader, "")
        [reopened, filed] = [await take(database, reader), await take(database, reader)]
        async with database.transaction() as connection:
            await indexing_queue.reopen(connection, reopened, 3)
            await indexing_queue.keep(connection, filed, [ContainedFile("x.stl", 5, encrypted=False)], ["encrypted"])
            await archive_list.ask_again(connection, None, None)
        assert await words_of(database, "filing.paused") == ["The disk is full."]
        assert await words_of(database, "reading.paused") == ["No process."]
        assert await words_of(database, "archive.reopened") == ["1 of 3 volumes"]
        assert await words_of(database, "archive.filed") == ["1 file inside, encrypted"]
        assert await words_of(database, "failures.asked") == ["1 archive"]


class TestAccounts:
    async def test_why_an_account_stopped(self, database: Database, reader: AccountId) -> None:
        """The reason and the end of a ban; what cannot be reached says why as well."""
        async with database.transaction() as connection:
            account = (await accounts.find(connection, "reader")).account
            active = [AccountState.ACTIVE]
            await accounts.note_unreachable(connection, reader, 0, "The name was not found.")
            await accounts.set_standing(connection, account, Standing.ESTABLISHED)
            await accounts.change_state(
                connection, reader, AccountState.BANNED, expected=active, until=LATER, why="Too many reports."
            )
        assert await words_of(database, "account.added") == ["telegram"]
        assert await words_of(database, "account.unreachable") == ["The name was not found."]
        assert await words_of(database, "account.standing_set") == ["established, was normal"]
        assert await words_of(database, "account.banned") == ["until 2026-03-01 12:00:05 UTC, Too many reports."]

    async def test_what_becomes_of_its_channels(self, database: Database, reader: AccountId) -> None:
        """Whether another account reads on."""
        async with database.transaction() as connection:
            await channels.lose_sight(connection, reader, await channels.find(connection, "Models"))
        assert await words_of(database, "channel.lost") == ["no account reads it"]

    async def test_a_cycle_is_summed_up(self, database: Database) -> None:
        """What it cost and what it found, with thousands apart."""
        report = CycleReport("reader", 1, whole=True, calls={"search": 1_086}, changed=3)
        async with database.transaction() as connection:
            await feed.record(connection, "reader", report.event())
        assert await words_of(database, "cycle.ended") == ["1,086 requests, 3 changed, 0 messages"]


class TestAccess:
    async def test_who_may_do_what(self, database: Database) -> None:
        """Where browsers came from, what tokens may do and who made them, and what a copy no longer believes."""
        span = page_sessions.SessionSpan(timedelta(days=1), timedelta(days=9))
        async with database.transaction() as connection:
            await page_sessions.begin_session(connection, "127.0.0.1", span)
            await tokens.add(connection, "bot", [TokenScope.READ], None, by="root")
            await database_copies.distrust(connection, because="restored")
        assert await words_of(database, "sign_in.begun") == ["from 127.0.0.1"]
        assert await words_of(database, "token.added") == ["read, made by the token root"]
        assert await words_of(database, "access.reset") == ["1 browser, 1 token"]

    async def test_lists_have_their_size(self, database: Database) -> None:
        """A list that was renamed says what it was."""
        async with database.transaction() as connection:
            number = await target_lists.add(connection, "north")
            await target_lists.put(connection, number, [])
            await target_lists.rename(connection, await target_lists.find(connection, number), "south")
        assert await words_of(database, "list.added") == [""]
        assert await words_of(database, "list.changed") == ["0 groups"]
        assert await words_of(database, "list.renamed") == ["was north"]


class TestAnyEvent:
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.endswith(".progressed")])
    def test_what_an_event_says_is_shown(self, kind: str) -> None:
        """Home has words for each kind whose data says more than its own number."""
        says_more = {one.name for one in fields(KINDS[kind])} - OWN_NUMBER
        assert bool(says_more) == (event_words.dispatch(KINDS[kind]) is not event_words.dispatch(EventData))

    async def test_one_that_nobody_knows_is_shown_without_words(self, database: Database) -> None:
        """A later release may have recorded it."""
        async with database.transaction() as connection:
            await feed.record(connection, "x", unknown_event("something.new", {"x": 1}))
        assert await words_of(database, "something.new") == [""]


def test_progress_has_its_limit_beside_it_where_there_is_one() -> None:
    """A history with a target is a share of it; one without says how far it is."""
    page = BackfillProgressed(channel=7, messages=10, archives=0, deleted=0, upto=1, depth=1200, target=5000)
    assert bar(WorkProgress("news", page), {}) == ProgressBar(
        "news", "loading older messages: 1,200 of 5,000 messages", 1200, 5000
    )
    endless = BackfillProgressed(channel=7, messages=10, archives=0, deleted=0, upto=1, depth=7, target=None)
    assert bar(WorkProgress("news", endless), {}).most is None
    moved = ArchiveProgressed(archive=1, channel=7, doing="download", file="a.zip", done=500_000, size=2_000_000)
    assert bar(WorkProgress("a.zip", moved), {}) == ProgressBar(
        "a.zip", "download: 0.5 MB of 2.0 MB", 500_000, 2_000_000
    )
    assert command_words("new_thing") == "new thing"
