"""What the mirror keeps: channels and their readers, memory, messages, coverage, sets."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tests.scans.stored_channels import POLICY, add_account, add_channel, message
from tidegate.accounts.queries import accounts
from tidegate.archives.queries import archive_sets, failures
from tidegate.archives.queries.archive_sets import KeptSet
from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.archives.rules.retry import ArchiveFailure, FailureReason
from tidegate.archives.rules.set_assembly import ArchivePart, ArchiveSet, SetState
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel, MirrorOptions
from tidegate.core.account import AccountState
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, ChannelId, MessageId, Span
from tidegate.cycles.channel_scan import pending_failures
from tidegate.database.pool import Connection, Database
from tidegate.history.queries import coverage, deletions, messages
from tidegate.history.rules.coverage import Content, Coverage
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM
from tidegate.scans.queries import scan_memory
from tidegate.scans.rules.scan_decision import ScanMemory, ScanOutcome, Verdict, after_scan

pytestmark = pytest.mark.both_servers


class TestChannels:
    async def test_the_first_account_that_sees_a_channel_reads_it_until_it_is_lost(self, database: Database) -> None:
        """S-45, S-47: one reader; another that sees it steps in when the first is paused, signed out or locked out."""
        async with database.transaction() as connection:
            first, second = await add_account(connection, "first"), await add_account(connection, "second")
            kept = await add_channel(connection, first)
            await channels.see(connection, TELEGRAM, second, [Channel(kept.number, kept.title)])
            await channels.claim_readers(connection, second)
            assert (await channels.find(connection, "7")).reader == first
            paused = AccountState.PAUSED
            await accounts.change_state(connection, first, paused, expected=[AccountState.ACTIVE])
            await channels.claim_readers(connection, second)
            assert (await channels.find(connection, "7")).reader == second
            await channels.lose_sight(connection, second, kept)
            assert (await channels.find(connection, "7")).state == "unreadable"

    async def test_a_title_that_two_have_names_both(self, database: Database) -> None:
        """bad-input-gets-a-sentence: the sentence gives the numbers to choose from."""
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            twins = [Channel(ChannelId(number), "Twin") for number in (1, 2)]
            await channels.see(connection, TELEGRAM, account, twins)
            with pytest.raises(BadInput, match="1, 2"):
                await channels.find(connection, "Twin")

    async def test_topics_that_stay_on_the_list_keep_their_turn(self, database: Database) -> None:
        """A topic more or less costs no other topic its turn, and the newcomers take what is free."""
        async with database.transaction() as connection:
            reader = await add_account(connection, "reader")
            kept = await add_channel(connection, reader)

            async def offsets(*topics: int) -> dict[int, int]:
                await channels.enable(connection, kept, MirrorOptions(topics))
                await connection.execute("UPDATE places SET last_scanned_at = clock_now() WHERE topic = 0 OR selected")
                rows = await connection.fetch("SELECT topic, turn_offset FROM places WHERE topic = 0 OR selected")
                return {row["topic"]: row["turn_offset"] for row in rows}

            before = await offsets(10, 20, 30)
            after = await offsets(20, 30, 40, 5)
        assert {topic: after[topic] for topic in (0, 20, 30)} == {topic: before[topic] for topic in (0, 20, 30)}
        assert sorted(after.values()) == [0, 1, 2, 3, 4]

    async def test_offsets_spread_the_turns(self, database: Database) -> None:
        """S-09: a new place gets the smallest free offset, so each cycle has an equal share."""
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            for number in range(1, 4):
                await add_channel(connection, account, number)
            await add_channel(connection, account, 9, wishes=MirrorOptions(topics=(5, 6)))
            rows = await connection.fetch("SELECT turn_offset FROM places ORDER BY turn_offset")
            assert [row["turn_offset"] for row in rows] == list(range(6))


class TestPlaces:
    async def test_memory_comes_back_as_it_was_and_a_watermark_never_falls(self, database: Database) -> None:
        """What is stored after a scan is what the next cycle starts from."""
        memory = ScanMemory(NOON, True, 3, watermark=50, newest_seen=60, changes=70)
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            kept = await add_channel(connection, account)
            await scan_memory.remember(connection, {(kept.key, 0): (memory, Verdict.CHANGED)})
            lower = replace(memory, watermark=10, newest_seen=20)
            await scan_memory.remember(connection, {(kept.key, 0): (lower, None)})
            [place] = (await scan_memory.load(connection, account, POLICY)).places
            assert place.memory == memory
            assert (await scan_memory.shown(connection, kept.key))[0]["verdict"] == Verdict.CHANGED.value

    async def test_failures_are_counted_where_they_belong(self, database: Database) -> None:
        """A topic counts its own, the channel those of all its topics; one being tried again is not due twice."""
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            kept = await add_channel(connection, account, wishes=MirrorOptions(topics=(5, 6)))
            for topic, state in ((5, "failed"), (5, "waiting"), (6, "failed")):
                number = await connection.fetchval(
                    "INSERT INTO archives (channel, topic, kind, base, name, state) "
                    "VALUES ($1, $2, 'zip', 'a', 'a', $3) RETURNING id",
                    kept.key, topic, state,
                )  # fmt: skip
                failure = ArchiveFailure(1, FailureReason.DOWNLOAD, 1, NOON)
                await failures.record(connection, number, failure)
            found = (await scan_memory.load(connection, account, POLICY)).places
            counts = {one.topic: (one.memory.failures_to_retry, one.memory.failures_pending) for one in found}
            assert counts == {0: (2, 3), 5: (1, 2), 6: (1, 1)}

    async def test_a_failure_that_a_scan_did_not_count_keeps_the_place_awake(self, database: Database) -> None:
        """Another account's failure comes between the count and the commit of a scan: it waits, and then wakes."""
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            number = await connection.fetchval(
                "INSERT INTO archives (channel, topic, kind, base, name, state) "
                "VALUES ($1, 0, 'zip', 'a', 'a.zip', 'failed') RETURNING id",
                kept.key,
            )

        async def fail() -> None:
            async with database.transaction() as other:
                await failures.record(other, number, ArchiveFailure(1, FailureReason.DOWNLOAD, 1, NOON))

        async with database.transaction() as connection:
            [place] = (await scan_memory.load(connection, await reader_of(connection, kept), POLICY)).places
            assert await pending_failures(connection, place, POLICY) == 0
            failing = asyncio.create_task(fail())
            await asyncio.wait([failing], timeout=0.5)
            idle = after_scan(place.memory, ScanOutcome(complete=True), now=NOON)
            await scan_memory.remember(connection, {(kept.key, 0): (idle, Verdict.GATE)})
        await failing
        async with database.connection() as connection:
            [row] = await scan_memory.shown(connection, kept.key)
        assert (row["consecutive_empty_scans"], row["last_scan_found_archives"]) == (0, True)


async def reader_of(connection: Connection, kept: KnownChannel) -> AccountId:
    return AccountId(await connection.fetchval("SELECT reader FROM channels WHERE id = $1", kept.key))


class TestMessages:
    async def test_a_page_that_comes_again_changes_nothing(self, database: Database) -> None:
        """The key is channel and number: the second time nothing is added and nothing is written."""
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            page = [message(1), message(2)]
            assert (await messages.store(connection, kept.key, page)).added == {1, 2}
            again = await messages.store(connection, kept.key, page)
            assert (again.added, again.changed) == (set(), set())

    async def test_an_older_version_does_not_undo_an_edit(self, database: Database) -> None:
        """Pages may come in any order; the newest version stays."""
        edited = replace(message(1, "new"), edited_at=NOON)
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await messages.store(connection, kept.key, [edited])
            await messages.store(connection, kept.key, [message(1, "old")])
            assert await connection.fetchval("SELECT text FROM messages") == "new"

    async def test_a_deleted_message_stays_with_its_tombstone(self, database: Database) -> None:
        """A late page does not bring it back, and it is buried once."""
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await messages.store(connection, kept.key, [message(1)])
            assert await deletions.mark_deleted(connection, kept.key, [MessageId(1), MessageId(2)]) == [1]
            assert await deletions.mark_deleted(connection, kept.key, [MessageId(1)]) == []
            await messages.store(connection, kept.key, [message(1, "again")])
            assert await messages.count(connection, kept.key) == 0

    async def test_a_character_postgresql_refuses_is_replaced(self, database: Database) -> None:
        """A stranger's text cannot stop a page."""
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await messages.store(connection, kept.key, [message(1, "a\x00b")])
            assert await connection.fetchval("SELECT text FROM messages") == "a␀b"


spans = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)).map(lambda pair: (pair[0], sum(pair))), max_size=12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stretches=spans)
async def test_the_databases_coverage_is_the_rules_coverage(
    database: Database, stretches: list[tuple[int, int]]
) -> None:
    """Any stretches in any order: PostgreSQL's union of ranges and the rule agree."""
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            for low, high in stretches:
                await coverage.add(connection, kept.key, {Content.DOCUMENTS: Span(low, high)})
            found = await coverage.load(connection, kept.key)
            assert found == {Content.DOCUMENTS: Coverage.of(stretches), Content.MESSAGES: Coverage()}
        finally:
            await transaction.rollback()


class TestArchives:
    async def test_a_set_comes_back_as_it_was_stored(self, database: Database) -> None:
        """Parts, spares, lost numbers and volumes survive, so that a set begun yesterday goes on today."""
        parts = {
            number: ArchivePart(number, number, f"x.part{number}.rar", 9, NOON, NOON, "Ada", 3) for number in (1, 3)
        }
        one = ArchiveSet(ArchiveKind.RAR_PARTS, "x", parts, 3, frozenset({2}), (replace(parts[1], message=8),))
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await archive_sets.save(connection, kept.key, [KeptSet(None, 5, "collecting", one)])
            name = (5, ArchiveKind.RAR_PARTS, "x")
            [found] = (await archive_sets.same_names(connection, kept.key, [name]))[name]
            assert found.set == one
            smaller = replace(one, parts={1: parts[1]}, lost=frozenset({2, 3}))
            await archive_sets.save(connection, kept.key, [replace(found, set=smaller)])
            [again] = await archive_sets.with_messages(connection, kept.key, [MessageId(1)])
            assert (again.id, again.set) == (found.id, smaller)

    async def test_time_moves_an_open_set_on(self, database: Database) -> None:
        """S-78: a set with a hole is incomplete after its time; one that somebody works on is left alone."""
        part = ArchivePart(1, 1, "x.part2.rar", 9, NOON, NOON)
        holed = ArchiveSet(ArchiveKind.RAR_PARTS, "x", {2: part})
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await archive_sets.save(connection, kept.key, [KeptSet(None, 1, "collecting", holed)])
            assert await archive_sets.judge(connection, [kept.key], NOON) == {}
            late = NOON + timedelta(days=2)
            assert await archive_sets.judge(connection, [kept.key], late) == {SetState.INCOMPLETE: 1}
            await connection.execute("UPDATE archives SET state = 'working'")
            assert await archive_sets.judge(connection, [kept.key], late) == {}
