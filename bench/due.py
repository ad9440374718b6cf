"""What a cycle over a million topics has to look at is known in one query, sooner than row by row by hundreds of times.

One account follows 1,000 topics in each of 1,000 forums and was restarted a minute after its last cycle: nearly all
are fresh and idle. ``query_ms`` is all that a cycle asks before the gate: the topics that are read anyway in one query,
and those with failures. ``rest_ms`` is what it counts and stores after the gate found every forum unchanged;
``count_ms`` is the counting alone, for ``tidegate plan``. ``full_scan_ms`` loads every place and asks the rule about
each, which is also the oracle for all of them; ``per_row_s`` is one query a place, as the seed had it: measured on a
sample and scaled. ``due`` are the places that are no skips.
``turn_*`` are the same for the hour after, when every place is cold and a fifth of them has its turn, ``busy_*`` for
one in which none is cold.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from bench._database_server import own_database
from tidegate.accounts.queries import accounts
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.core.ids import AccountId
from tidegate.cycles.idle_topics import FORUMS_AT_ONCE
from tidegate.database.pool import Connection, Database
from tidegate.platforms.telegram import TELEGRAM
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.due_topics import CycleMoment, IdleTopics, count_asleep, load_awake, rest
from tidegate.scans.queries.scan_memory import AccountMemory, ScanPlace
from tidegate.scans.rules.scan_decision import SKIPS, ScanPolicy, Verdict, decide_scan

FORUMS = 1_000
TOPICS = 1_000
SAMPLE = 5_000
ROUNDS = 5
SCANS = ScanPolicy()
RETRIES = RetryPolicy()

Found = Counter[tuple[int, Verdict]]
"""How many topics of a channel have which verdict."""
T = TypeVar("T")


async def run() -> dict[str, Any]:
    """The three moments, on a server of the benchmark's own."""
    async with own_database(connections=3) as database:
        account = await _fill(database)
        restart = await _measure(database, account)
        await database.pool.execute(
            "UPDATE places SET last_scanned_at = last_scanned_at - interval '1 hour', consecutive_empty_scans = 47"
        )
        await database.pool.execute("VACUUM ANALYZE places")
        turn = await _measure(database, account)
        await database.pool.execute(
            "UPDATE places SET last_scanned_at = clock_now() - interval '1 hour', consecutive_empty_scans = 1"
        )
        await database.pool.execute("VACUUM ANALYZE places")
        busy = await _measure(database, account)
    figures = {"turn": turn, "busy": busy}
    later = {f"{when}_{name}": figure for when, told in figures.items() for name, figure in told.items()}
    return {"topics": FORUMS * TOPICS, **restart, **later}


async def _fill(database: Database) -> AccountId:
    """A million topics: one in 500 never scanned, found something or was asked for, one in 1,000 has a failure."""
    async with database.transaction() as connection:
        await accounts.add(connection, "reader", TELEGRAM, Standing.NORMAL, loopback=None)
        account = (await accounts.find(connection, "reader")).account.id
        await connection.execute("SELECT setseed(0.5)")
        await connection.execute(
            """
            INSERT INTO channels (platform, number, title, forum, reader, enabled, by_topic)
            SELECT 'telegram', n, 'Forum ' || n, true, $1, true, true FROM generate_series(1, $2::int) AS n
            """,
            account, FORUMS,
        )  # fmt: skip
        await connection.execute(
            """
            INSERT INTO places (channel, topic, selected, turn_offset, last_scanned_at, last_scan_found_archives,
                                consecutive_empty_scans, asked, verdict)
            SELECT c.id, t, true, row_number() OVER () - 1,
                CASE WHEN random() >= 0.002 THEN clock_now() - interval '1 minute' END,
                random() < 0.002, (random() * 10)::int, random() < 0.002, $2
            FROM channels c, generate_series(1, $1::int) AS t
            """,
            TOPICS,
            Verdict.UNCHANGED.value,
        )
        await _fail_some(connection)
    await database.pool.execute("VACUUM ANALYZE")
    return account


async def _fail_some(connection: Connection) -> None:
    await connection.execute(
        """
        WITH made AS (
            INSERT INTO archives (channel, topic, kind, base, name, state)
            SELECT channel, topic, 'single', 'x', 'x.zip', 'failed' FROM places WHERE random() < 0.001
            RETURNING id, channel, topic
        )
        INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at)
        SELECT id, channel, topic, 7, 'download', 1 + (random() * 5)::int, clock_now() FROM made
        """
    )


async def _measure(database: Database, account: AccountId) -> dict[str, Any]:
    async with database.connection() as connection:

        async def asked() -> AccountMemory:
            return await load_awake(connection, account, SCANS, RETRIES)

        found = await asked()  # the statement is prepared and every page in memory
        query_s = statistics.median([(await _timed(asked))[0] for _ in range(ROUNDS)])
        full_scan_s, judged = await _timed(lambda: _judge_all(connection, account))
        per_row_s = (await _timed(lambda: _row_by_row(connection)))[0] / SAMPLE * FORUMS * TOPICS
        forums = [row["id"] for row in await connection.fetch("SELECT id FROM channels")]
        count_s, asleep = await _timed(lambda: _count(connection, found, forums))
    told = _told(found, asleep)
    rest_s = (await _timed(lambda: _rest(database, found, forums)))[0]
    return {
        "due": sum(count for (_, verdict), count in told.items() if verdict not in SKIPS),
        "query_ms": round(query_s * 1_000, 1),
        "count_ms": round(count_s * 1_000, 1),
        "rest_ms": round(rest_s * 1_000, 1),
        "full_scan_ms": round(full_scan_s * 1_000, 1),
        "per_row_s": round(per_row_s, 1),
        "per_row_sample": SAMPLE,
        "ratio_to_per_row": round(per_row_s / query_s),
        "equals_oracle": told == judged,
    }


def _told(memory: AccountMemory, asleep: dict[int, Counter[Verdict]]) -> Found:
    """What a cycle knows: topics with failures judged by the rule, the others as they were found and counted."""
    told: Found = Counter()
    for key, topics in asleep.items():
        told.update({(key, verdict): count for verdict, count in topics.items()})
    for key, wanted in memory.wanted.items():
        told.update((key, verdict) for verdict in wanted.values())
    for place in memory.places:
        told[place.key, _judge(place, memory)] += 1
    return +told


def _judge(place: ScanPlace, memory: AccountMemory) -> Verdict:
    return decide_scan(place.memory, SCANS, now=memory.now, turn=memory.cycle + 1 + place.turn_offset)


async def _count(connection: Connection, memory: AccountMemory, forums: list[int]) -> dict[int, Counter[Verdict]]:
    return await count_asleep(connection, _sleepers(memory, forums), SCANS, _moment(memory))


async def _rest(database: Database, memory: AccountMemory, forums: list[int]) -> None:
    """Count and store what becomes of all sleeping topics, in the cycle's portions."""
    for start in range(0, len(forums), FORUMS_AT_ONCE):
        some = forums[start : start + FORUMS_AT_ONCE]
        async with database.transaction() as connection:
            await rest(connection, _sleepers(memory, some), SCANS, _moment(memory))


def _sleepers(memory: AccountMemory, forums: list[int]) -> IdleTopics:
    return IdleTopics(forums, [(place.key, place.topic) for place in memory.places])


def _moment(memory: AccountMemory) -> CycleMoment:
    return CycleMoment(memory.now, memory.cycle + 1, whole=True)


async def _timed(work: Callable[[], Awaitable[T]]) -> tuple[float, T]:
    clock = SystemClock()
    start = clock.ticks()
    answer = await work()
    return clock.ticks() - start, answer


async def _judge_all(connection: Connection, account: AccountId) -> Found:
    """Every place loaded and judged by the rule itself."""
    memory = await scan_memory.load(connection, account, RETRIES)
    return Counter((place.key, _judge(place, memory)) for place in memory.places)


async def _row_by_row(connection: Connection) -> None:
    """A query for the memory and the failures of each place, one place after the other."""
    dice = random.Random(7)
    keys = [row["id"] for row in await connection.fetch("SELECT id FROM channels")]
    for _ in range(SAMPLE):
        await connection.fetchrow(
            """
            SELECT p.*, (SELECT count(*) FROM failures f WHERE f.channel = p.channel AND f.topic = p.topic) AS failed
            FROM places p
            WHERE p.channel = $1 AND p.topic = $2
            """,
            dice.choice(keys), dice.randint(1, TOPICS),
        )  # fmt: skip
