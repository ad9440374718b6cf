"""What the mirror keeps: channels and their readers, memory, messages, coverage, sets."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tidegate.errors import BadInput
from tidegate.port import Channel, ChannelId, Message, MessageId
from tidegate.rules.archives import ArchiveSet, Part, SetState
from tidegate.rules.history import Content, Coverage, Span
from tidegate.rules.naming import Kind
from tidegate.rules.retrying import Failure, FailureReason, RetryHabits
from tidegate.rules.scanning import ScanMemory, Verdict
from tidegate.store import accounts, archives, channels, coverage, failures, messages, places
from tidegate.store.archives import KeptSet
from tidegate.store.channels import Kept, Wishes
from tidegate.store.database import Connection, Database
from tidegate.words import AccountId, AccountState, Platform, Standing

HABITS = RetryHabits()


async def add_account(connection: Connection, name: str) -> AccountId:
    return await accounts.add(connection, name, Platform.TELEGRAM, Standing.NORMAL, loopback=None)


async def add_channel(
    connection: Connection, account: AccountId, number: int = 7, *, wishes: Wishes | None = None
) -> Kept:
    """A channel that the account sees and mirrors."""
    seen = Channel(ChannelId(number), f"Channel {number}", forum=True)
    await channels.see(connection, Platform.TELEGRAM, account, [seen])
    await channels.enable(connection, await channels.find(connection, str(number)), wishes or Wishes())
    return await channels.find(connection, str(number))


def message(number: int, text: str = "hello") -> Message:
    return Message(MessageId(number), NOON, "Ada", text)


class TestChannels:
    async def test_the_first_account_that_sees_a_channel_reads_it_until_it_is_lost(self, database: Database) -> None:
        """S-45, S-47: one reader; another that sees it steps in when the first is paused, signed out or locked out."""
        async with database.transaction() as connection:
            first, second = await add_account(connection, "first"), await add_account(connection, "second")
            kept = await add_channel(connection, first)
            await channels.see(connection, Platform.TELEGRAM, second, [Channel(kept.number, kept.title)])
            await channels.claim_readers(connection, second)
            assert (await channels.find(connection, "7")).reader == first
            paused = AccountState.PAUSED
            await accounts.change_state(connection, first, paused, expected=[AccountState.ACTIVE])
            await channels.claim_readers(connection, second)
            assert (await channels.find(connection, "7")).reader == second
            await channels.lose_sight(connection, second, kept)
            assert (await channels.find(connection, "7")).state == "unreadable"

    async def test_a_title_that_two_have_names_both(self, database: Database) -> None:
        """Law 12: the sentence gives the numbers to choose from."""
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            twins = [Channel(ChannelId(number), "Twin") for number in (1, 2)]
            await channels.see(connection, Platform.TELEGRAM, account, twins)
            with pytest.raises(BadInput, match="1, 2"):
                await channels.find(connection, "Twin")

    async def test_offsets_spread_the_turns(self, database: Database) -> None:
        """S-09: whoever is enabled gets the smallest offset that is free, so each cycle has an equal share."""
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            for number in range(1, 4):
                await add_channel(connection, account, number)
            await add_channel(connection, account, 9, wishes=Wishes(topics=(5, 6)))
            rows = await connection.fetch("SELECT turn_offset FROM places ORDER BY turn_offset")
            assert [row["turn_offset"] for row in rows] == list(range(6))


class TestPlaces:
    async def test_memory_comes_back_as_it_was_and_a_watermark_never_falls(self, database: Database) -> None:
        """What is stored after a scan is what the next cycle starts from."""
        memory = ScanMemory(NOON, True, 3, watermark=50, newest_seen=60, changes=70)
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            kept = await add_channel(connection, account)
            await places.remember(connection, {(kept.key, 0): (memory, Verdict.CHANGED)})
            lower = replace(memory, watermark=10, newest_seen=20)
            await places.remember(connection, {(kept.key, 0): (lower, None)})
            [place] = (await places.load(connection, account, HABITS)).places
            assert place.memory == memory
            assert (await places.shown(connection, kept.key))[0]["verdict"] == Verdict.CHANGED.value

    async def test_failures_are_counted_where_they_belong(self, database: Database) -> None:
        """A topic counts its own, the channel those of all its topics; one being tried again is not due twice."""
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            kept = await add_channel(connection, account, wishes=Wishes(topics=(5, 6)))
            for topic, state in ((5, "failed"), (5, "waiting"), (6, "failed")):
                number = await connection.fetchval(
                    "INSERT INTO archives (channel, topic, kind, base, name, state) "
                    "VALUES ($1, $2, 'zip', 'a', 'a', $3) RETURNING id",
                    kept.key, topic, state,
                )  # fmt: skip
                failure = Failure(1, FailureReason.DOWNLOAD, 1, NOON)
                await failures.record(connection, number, failure)
            found = (await places.load(connection, account, HABITS)).places
            counts = {one.topic: (one.memory.failures_to_retry, one.memory.failures_pending) for one in found}
            assert counts == {0: (2, 3), 5: (1, 2), 6: (1, 1)}


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
            assert await messages.bury(connection, kept.key, [MessageId(1), MessageId(2)]) == [1]
            assert await messages.bury(connection, kept.key, [MessageId(1)]) == []
            await messages.store(connection, kept.key, [message(1, "again")])
            assert await messages.count(connection, kept.key) == 0

    async def test_a_character_postgresql_refuses_is_left_out(self, database: Database) -> None:
        """A stranger's text cannot stop a page."""
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await messages.store(connection, kept.key, [message(1, "a\x00b")])
            assert await connection.fetchval("SELECT text FROM messages") == "ab"


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
        parts = {number: Part(number, number, f"x.part{number}.rar", 9, NOON, NOON, "Ada", 3) for number in (1, 3)}
        one = ArchiveSet(Kind.RAR_PARTS, "x", parts, 3, frozenset({2}), (replace(parts[1], message=8),))
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await archives.save(connection, kept.key, [KeptSet(None, 5, "collecting", one)])
            name = (5, Kind.RAR_PARTS, "x")
            [found] = (await archives.same_names(connection, kept.key, [name]))[name]
            assert found.set == one
            smaller = replace(one, parts={1: parts[1]}, lost=frozenset({2, 3}))
            await archives.save(connection, kept.key, [replace(found, set=smaller)])
            [again] = await archives.with_messages(connection, kept.key, [MessageId(1)])
            assert (again.id, again.set) == (found.id, smaller)

    async def test_time_moves_an_open_set_on(self, database: Database) -> None:
        """S-78: a set with a hole is incomplete after its time; one that somebody works on is left alone."""
        part = Part(1, 1, "x.part2.rar", 9, NOON, NOON)
        holed = ArchiveSet(Kind.RAR_PARTS, "x", {2: part})
        async with database.transaction() as connection:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            await archives.save(connection, kept.key, [KeptSet(None, 1, "collecting", holed)])
            assert await archives.settle(connection, [kept.key], NOON) == {}
            late = NOON + timedelta(days=2)
            assert await archives.settle(connection, [kept.key], late) == {SetState.INCOMPLETE: 1}
            await connection.execute("UPDATE archives SET state = 'working'")
            assert await archives.settle(connection, [kept.key], late) == {}
