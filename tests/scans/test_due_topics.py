"""Which places are due, asked in one query: it answers as the rules do."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON, holding
from tidegate.accounts.queries import accounts
from tidegate.archives.rules.retry import FailureReason, RetryPolicy
from tidegate.core.account import Standing
from tidegate.core.clock import HeldClock
from tidegate.core.ids import AccountId, ChannelId
from tidegate.database.pool import Connection, Database
from tidegate.platforms.telegram import TELEGRAM
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.due_topics import CycleMoment, IdleTopics, count_asleep, load_awake, rest
from tidegate.scans.queries.scan_memory import AccountMemory, ScanPlace
from tidegate.scans.rules.call_bounds import SelectedTopic
from tidegate.scans.rules.scan_decision import (
    GateChange,
    ScanOutcome,
    ScanPolicy,
    Verdict,
    after_scan,
    decide_scan,
    takes_turn,
    verdict_after_gate,
)

pytestmark = pytest.mark.both_servers

MINUTE = timedelta(minutes=1)
SCANS = ScanPolicy()
RETRIES = RetryPolicy()
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Kept:
    """A row of a place, and of the failure in it if it has one."""

    topic: int
    scanned: timedelta | None
    found: bool
    empty: int
    offset: int
    asked: bool
    selected: bool
    gone: bool
    failure: tuple[FailureReason, int, timedelta, bool, str] | None


ages = st.timedeltas(-10 * MINUTE, 10 * MINUTE) | st.sampled_from([timedelta(), 5 * MINUTE, 60 * MINUTE])
failing = st.tuples(
    st.sampled_from(FailureReason),
    st.integers(1, 6),
    st.timedeltas(-120 * MINUTE, 120 * MINUTE),
    st.booleans(),
    st.sampled_from(["failed", "given_up", "waiting"]),
)
kept = st.builds(
    Kept,
    topic=st.integers(0, 20),
    scanned=st.none() | ages,
    found=st.booleans(),
    empty=st.sampled_from([0, 4, 5, 47]),
    offset=st.integers(0, 9),
    asked=st.sampled_from([False, False, True]),
    selected=st.booleans(),
    gone=st.sampled_from([False, False, True]),
    failure=st.none() | failing,
)
policy = st.builds(
    ScanPolicy,
    fresh_for=st.sampled_from([timedelta(), 5 * MINUTE, timedelta(days=2)]),
    cold_after_empty_scans=st.integers(1, 6),
    cold_every_nth_cycle=st.integers(1, 6),
)


@pytest.fixture
async def clock(database: Database) -> AsyncIterator[HeldClock]:
    async with holding(database) as held:
        yield held


async def an_account(connection: Connection, cycle: int = 0) -> AccountId:
    name = f"reader {next(_numbers)}"
    await accounts.add(connection, name, TELEGRAM, Standing.NORMAL, loopback=None)
    account = (await accounts.find(connection, name)).account.id
    await connection.execute("UPDATE accounts SET cycle = $2 WHERE id = $1", account, cycle)
    return account


async def a_channel(connection: Connection, reader: AccountId, rows: list[Kept], state: str = "ok") -> int:
    key: int = await connection.fetchval(
        "INSERT INTO channels (platform, number, reader, enabled, by_topic, state) "
        "VALUES ('telegram', $1, $2, true, true, $3) RETURNING id",
        next(_numbers),
        reader,
        state,
    )
    for row in rows:
        await connection.execute(
            "INSERT INTO places (channel, topic, last_scanned_at, last_scan_found_archives, consecutive_empty_scans, "
            "turn_offset, asked, selected, gone_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            key,
            row.topic,
            None if row.scanned is None else NOON - row.scanned,
            row.found,
            row.empty,
            row.offset,
            row.asked,
            row.selected,
            NOON if row.gone else None,
        )
        if row.failure is not None:
            await a_failure(connection, key, row.topic, row.failure)
    return key


async def a_failure(
    connection: Connection, key: int, topic: int, failure: tuple[FailureReason, int, timedelta, bool, str]
) -> None:
    reason, attempts, rests, by_hand, state = failure
    await connection.execute(
        """
        WITH made AS (
            INSERT INTO archives (channel, topic, kind, base, name, state)
            VALUES ($1, $2, 'single', 'x', 'x.zip', $3) RETURNING id
        )
        INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at, by_hand)
        SELECT id, $1, $2, 7, $4, $5, $6, $7 FROM made
        """,
        key, topic, state, reason.value, attempts, NOON + rests, by_hand,
    )  # fmt: skip


async def by_the_rule(connection: Connection, account: AccountId, scans: ScanPolicy) -> dict[int, Counter[Verdict]]:
    """Every place loaded and judged one by one; the verdicts by channel."""
    memory = await scan_memory.load(connection, account, RETRIES)
    judged: dict[int, Counter[Verdict]] = {}
    for place in memory.places:
        turn = memory.cycle + 1 + place.turn_offset
        verdict = decide_scan(place.memory, scans, now=memory.now, turn=turn)
        judged.setdefault(place.key, Counter())[verdict] += 1
    return judged


def sleepers_of(memory: AccountMemory, key: int) -> IdleTopics:
    return IdleTopics([key], [(place.key, place.topic) for place in memory.places])


def told(memory: AccountMemory, asleep: dict[int, Counter[Verdict]], scans: ScanPolicy) -> dict[int, Counter[Verdict]]:
    """What the cycle knows: the objects judged, the wanted with their verdicts, and the others as they were counted."""
    judged = {key: +counted for key, counted in asleep.items()}
    for key, wanted in memory.wanted.items():
        judged[key].update(wanted.values())
    for place in memory.places:
        turn = memory.cycle + 1 + place.turn_offset
        verdict = decide_scan(place.memory, scans, now=memory.now, turn=turn)
        judged[place.key][verdict] += 1
    return {key: verdicts for key, verdicts in judged.items() if verdicts}


def is_failing(place: ScanPlace) -> bool:
    return bool(place.memory.failures_to_retry or place.memory.failures_pending)


def is_read_anyway(place: ScanPlace, memory: AccountMemory, scans: ScanPolicy) -> bool:
    turn = memory.cycle + 1 + place.turn_offset
    selected = SelectedTopic(place.memory, its_turn=takes_turn(place.memory, scans, now=memory.now, turn=turn))
    return place.memory.readable and selected.is_read_anyway


worlds = {
    "rows": st.lists(kept, max_size=12, unique_by=lambda row: row.topic),
    "state": st.sampled_from(["ok", "ok", "unreadable", "no_history_permission"]),
    "cycle": st.integers(0, 20),
    "scans": policy,
}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(**worlds)
async def test_the_query_and_the_rule_agree(
    database: Database, clock: HeldClock, *, rows: list[Kept], state: str, cycle: int, scans: ScanPolicy
) -> None:
    """Over any memory, failures and knobs the verdicts are those of ``decide_scan``; what wants something is loaded."""
    async with database.transaction() as connection:
        account = await an_account(connection, cycle)
        key = await a_channel(connection, account, rows, state)
        awake = await load_awake(connection, account, scans, RETRIES)
        moment = CycleMoment(awake.now, cycle + 1, whole=True)
        asleep = await count_asleep(connection, sleepers_of(awake, key), scans, moment)
        assert told(awake, asleep, scans) == await by_the_rule(connection, account, scans)
        everything = await scan_memory.load(connection, account, RETRIES)
        assert awake.places == [one for one in everything.places if one.is_channel or is_failing(one)]
        others = [one for one in everything.places if not one.is_channel and not is_failing(one)]
        wanted = {(one.key, one.topic) for one in others if is_read_anyway(one, everything, scans)}
        assert {(key, topic) for key, topics in awake.wanted.items() for topic in topics} == wanted


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(**worlds, whole=st.booleans())
async def test_what_rests_is_stored_as_the_rule_would(
    database: Database, clock: HeldClock, *, rows: list[Kept], state: str, cycle: int, scans: ScanPolicy, whole: bool
) -> None:
    """Topics of an unchanged forum that want nothing: ``after_scan`` for those looked at, a verdict for the skipped."""
    async with database.transaction() as connection:
        account = await an_account(connection, cycle)
        key = await a_channel(connection, account, [row for row in rows if row.topic], state)
        before = {place.topic: place for place in (await scan_memory.load(connection, account, RETRIES)).places}
        number: int = await connection.fetchval("SELECT number FROM channels WHERE id = $1", key)
        only = None if whole else [ChannelId(number)]
        memory = await load_awake(connection, account, scans, RETRIES, only=only)
        moment = CycleMoment(memory.now, cycle + whole, whole)
        awake = {(place.key, place.topic) for place in memory.places}
        wanted = {(key, topic) for topics in memory.wanted.values() for topic in topics}
        counted = await rest(connection, sleepers_of(memory, key), scans, moment)
        after = {row["topic"]: row for row in await scan_memory.shown(connection, key)}
    asleep = {topic: place for topic, place in before.items() if (place.key, topic) not in awake | wanted}
    assert counted[key].total() == len(asleep)
    for topic, place in before.items():
        verdict = decide_scan(place.memory, scans, now=NOON, turn=moment.cycle + place.turn_offset)
        expected, row = replace(place.memory, readable=True, failures_to_retry=0, failures_pending=0), after[topic]
        if topic in asleep and verdict is Verdict.GATE:
            expected = after_scan(expected, ScanOutcome(complete=True), now=NOON)
        assert scan_memory.memory_of(row) == expected
        if topic in asleep:
            assert row["verdict"] == verdict_after_gate(verdict, GateChange.UNCHANGED).value
        else:
            assert row["verdict"] is None


async def test_what_wants_something_is_told_and_the_rest_counted(database: Database, clock: HeldClock) -> None:
    """S-01, S-02, S-04, S-05, S-07, S-08, S-12, S-73: each reason by itself, and nothing of another account's."""
    failed = (FailureReason.DOWNLOAD, 1, timedelta(), False, "failed")
    idle = Kept(1, 60 * MINUTE, found=False, empty=1, offset=1, asked=False, selected=True, gone=False, failure=None)
    async with database.transaction() as connection:
        account, other = await an_account(connection), await an_account(connection)
        rows = [
            replace(idle, topic=1, scanned=None),
            replace(idle, topic=2, scanned=MINUTE),
            replace(idle, topic=3, scanned=MINUTE, failure=failed),
            replace(idle, topic=4, empty=5, offset=1),
            replace(idle, topic=5, empty=5, offset=4),
            replace(idle, topic=6, scanned=MINUTE, asked=True),
            replace(idle, topic=7, scanned=-60 * MINUTE),
            replace(idle, topic=8, scanned=5 * MINUTE),
            replace(idle, topic=9, scanned=5 * MINUTE - timedelta(microseconds=1)),
        ]
        key = await a_channel(connection, account, rows)
        await a_channel(connection, other, [idle])
        memory = await load_awake(connection, account, SCANS, RETRIES)
        moment = CycleMoment(memory.now, memory.cycle + 1, whole=True)
        asleep = await count_asleep(connection, sleepers_of(memory, key), SCANS, moment)
    assert [(place.key, place.topic) for place in memory.places] == [(key, 3)]
    assert memory.wanted == {key: {1: Verdict.FIRST, 5: Verdict.GATE, 6: Verdict.ASKED}}
    assert asleep == {key: Counter({Verdict.FRESH: 2, Verdict.COLD: 1, Verdict.GATE: 2})}


@pytest.mark.parametrize("cold_after", [1, 3, 5, 7])
async def test_a_turn_comes_whenever_topics_are_called_cold(
    database: Database, clock: HeldClock, cold_after: int
) -> None:
    """S-06, S-08: the knob may be below or above what the index counts to, and a scan in the future hides no turn."""
    scans = ScanPolicy(cold_after_empty_scans=cold_after)
    idle = Kept(1, 60 * MINUTE, found=False, empty=1, offset=4, asked=False, selected=True, gone=False, failure=None)
    its_turn = replace(idle, empty=cold_after)
    rows = [
        its_turn,
        replace(its_turn, topic=2, empty=cold_after - 1),
        replace(its_turn, topic=3, offset=3),
        replace(its_turn, topic=4, scanned=-60 * MINUTE),
        replace(its_turn, topic=5, scanned=MINUTE),
        replace(its_turn, topic=6, scanned=MINUTE, found=True),
        replace(its_turn, topic=7, selected=False),
        replace(its_turn, topic=8, gone=True),
    ]
    async with database.transaction() as connection:
        account = await an_account(connection)
        key = await a_channel(connection, account, rows)
        memory = await load_awake(connection, account, scans, RETRIES)
        assert memory.wanted == {key: dict.fromkeys([1, 4, 6], Verdict.GATE)}
        number: int = await connection.fetchval("SELECT number FROM channels WHERE id = $1", key)
        assert (await load_awake(connection, account, scans, RETRIES, only=[ChannelId(number)])).wanted == {}


async def test_resting_topics_stay_where_they_are_in_every_index(database: Database) -> None:
    """What is stored of a topic that was found empty is in no index of its own, so a million cost no index entry."""
    rows = await database.pool.fetch(
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'places'::regclass"
    )
    indexed = {word for row in rows for word in re.findall(r"\w+", row[0])}
    assert "idle_scanned_at" in indexed
    written = {"last_scanned_at", "last_scan_found_archives", "consecutive_empty_scans", "watermark", "verdict"}
    assert not indexed & written
