"""Which topics that are followed on their own a cycle has to read, decided in the database for any number of topics.

``rules.verdicts`` defines the decision; the conditions here repeat it in SQL, and property tests keep both equal.
Before the gate one query finds the topics that are read in any case, by indexes that hold few others. They become
objects when their forum is read. Only those with a failure are objects from the start. The rest are counted and stored
in SQL once their forum is known to be unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.archives.queries import failures
from tidegate.archives.queries.failures import count_failures
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import AccountId, ChannelId, ChannelKey, CycleNumber, TopicId
from tidegate.database.pool import Connection
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import AccountMemory
from tidegate.scans.rules.scan_decision import ScanPolicy, Verdict

# $1 is the account, or its forums; $2 to $7 are the time and the settings. Failures are left out, because a topic that
# has one is an object. A scan later than now (the clock went back) is not fresh, as in the rule.
_FRESH = "(NOT p.last_scan_found_archives AND p.last_scanned_at <= $2 AND p.last_scanned_at > $3)"
_COLD = f"(p.consecutive_empty_scans >= $4 AND p.last_scanned_at IS NOT NULL AND NOT {_FRESH})"
_ITS_TURN = "(mod($6 + p.turn_offset, $5) = 0)"
_TAKES_TURN = f"($7 AND {_COLD} AND {_ITS_TURN})"
_READ_ANYWAY = f"(p.never_scanned OR p.asked OR {_TAKES_TURN})"
_FOLLOWED = "p.topic <> 0 AND p.selected AND p.gone_at IS NULL"

_OF_READER = f"""
    FROM channels c JOIN places p ON p.channel = c.id
    WHERE c.reader = $1 AND c.enabled AND c.by_topic AND c.state <> 'unreadable'
      AND ($8::bigint[] IS NULL OR c.number = ANY($8)) AND {_FOLLOWED}
"""
# The indexes hold the topics that were found empty five times, the default of the setting, and when they were last
# scanned. With a lower setting the topics between are examined one by one.
_WANTED = f"""
    SELECT channel, verdict, array_agg(topic) AS topics
    FROM (
        SELECT p.channel, p.topic,
            CASE WHEN p.never_scanned THEN '{Verdict.FIRST.value}' ELSE '{Verdict.ASKED.value}' END AS verdict
        {_OF_READER} AND (p.never_scanned OR p.asked)
        UNION ALL
        SELECT p.channel, p.topic, '{Verdict.GATE.value}'
        {_OF_READER} AND (p.idle_scanned_at <= $3 OR p.idle_scanned_at > $2)
          AND NOT (p.never_scanned OR p.asked) AND {_TAKES_TURN}
        UNION ALL
        SELECT p.channel, p.topic, '{Verdict.GATE.value}'
        {_OF_READER} AND $4 < 5 AND p.consecutive_empty_scans < 5
          AND NOT (p.never_scanned OR p.asked) AND {_TAKES_TURN}
    ) AS wanted
    GROUP BY channel, verdict
"""

_ASLEEP = f"""
    c.id = p.channel AND p.channel = ANY($1) AND {_FOLLOWED} AND (c.state = 'unreadable' OR NOT {_READ_ANYWAY})
    AND (p.channel, p.topic) NOT IN (SELECT * FROM unnest($8::bigint[], $9::bigint[]))
"""
_SKIP = f"""
    CASE WHEN c.state = 'unreadable' THEN '{Verdict.UNREADABLE.value}'
         WHEN {_FRESH} THEN '{Verdict.FRESH.value}'
         WHEN {_COLD} AND NOT {_ITS_TURN} THEN '{Verdict.COLD.value}' END
"""
_COUNT = f"""
    SELECT p.channel, coalesce({_SKIP}, '{Verdict.GATE.value}') AS verdict, count(*) AS topics,
        bool_or({_SKIP} IS NULL OR {_SKIP} IS DISTINCT FROM p.verdict) AS stale
    FROM channels c, places p
    WHERE {_ASLEEP}
    GROUP BY 1, 2
"""
# # One statement for both, also because of PostgreSQL 18. It reads the definitions of generated columns for every row
# of an UPDATE that sets none of their source columns, which doubles the cost.
_REST = f"""
    UPDATE places p
    SET verdict = coalesce({_SKIP}, '{Verdict.UNCHANGED.value}'),
        last_scanned_at = CASE WHEN {_SKIP} IS NULL THEN clock_now() ELSE p.last_scanned_at END,
        last_scan_found_archives = p.last_scan_found_archives AND {_SKIP} IS NOT NULL,
        consecutive_empty_scans = p.consecutive_empty_scans + ({_SKIP} IS NULL)::integer,
        watermark = CASE WHEN {_SKIP} IS NULL THEN greatest(p.watermark, p.newest_seen) ELSE p.watermark END
    FROM channels c
    WHERE {_ASLEEP} AND ({_SKIP} IS NULL OR {_SKIP} IS DISTINCT FROM p.verdict)
"""


@dataclass(frozen=True, slots=True)
class CycleMoment:
    """When a cycle decides."""

    now: datetime
    cycle: CycleNumber  # cold places have their turn by its number
    whole: bool  # whether it is for all channels; otherwise no cold place has a turn


@dataclass(frozen=True, slots=True)
class IdleTopics:
    """Topics that need no scan."""

    forums: Collection[ChannelKey]  # the forums that they are in
    awake: Collection[tuple[ChannelKey, TopicId]]  # the topics of these forums that do need one


async def load_awake(
    connection: Connection,
    account: AccountId,
    scans: ScanPolicy,
    retries: RetryPolicy,
    *,
    only: Collection[ChannelId] | None = None,
) -> AccountMemory:
    """What an account's next cycle starts from: its channels, topics with failures, and those that are read anyway.

    Over *only* some channels it is not a full cycle, and no cold place has its turn.
    """
    now, cycle = await scan_memory.start(connection, account)
    moment = CycleMoment(now, CycleNumber(cycle + 1) if only is None else cycle, whole=only is None)
    failed = await failures.of_reader(connection, account, only=only)
    found = await connection.fetch(_WANTED, account, *_knobs(scans, moment), None if only is None else list(only))
    wanted: dict[ChannelKey, dict[TopicId, Verdict]] = {}
    for row in found:
        wanted.setdefault(row["channel"], {}).update(dict.fromkeys(row["topics"], Verdict(row["verdict"])))
    counted = (at for counts in count_failures(failed, retries, now) for at, count in counts.items() if count)
    failing = {(key, topic) for key, topic in counted if topic != NO_TOPIC}
    objects = await scan_memory.load_some(
        connection, account, failing, failed=failed, policy=retries, now=now, only=only
    )
    for key, topic in failing:
        wanted.get(key, {}).pop(topic, None)
    return AccountMemory(now, cycle, objects, failed, wanted)


async def count_asleep(
    connection: Connection, sleepers: IdleTopics, scans: ScanPolicy, moment: CycleMoment
) -> dict[ChannelKey, Counter[Verdict]]:
    """How many sleeping topics have which verdict before the gate is asked, by the key of their forum."""
    return _counted(sleepers, await connection.fetch(_COUNT, *_values(sleepers, scans, moment)))


async def rest(
    connection: Connection, sleepers: IdleTopics, scans: ScanPolicy, moment: CycleMoment
) -> dict[ChannelKey, Counter[Verdict]]:
    """Store what becomes of sleeping topics whose forum is unchanged or cannot be read; returns the counts.

    Those that are skipped get their verdict, if it is another than the last. The others were looked at by the gate and
    found empty, as in the rule ``after_scan``.
    """
    rows = await connection.fetch(_COUNT, *_values(sleepers, scans, moment))
    stale = {row["channel"] for row in rows if row["stale"]}
    if stale:
        await connection.execute(_REST, *_values(replace(sleepers, forums=stale), scans, moment))
    return _counted(sleepers, rows)


def _counted(sleepers: IdleTopics, rows: list[asyncpg.Record]) -> dict[ChannelKey, Counter[Verdict]]:
    counted: dict[ChannelKey, Counter[Verdict]] = {key: Counter() for key in sleepers.forums}
    for row in rows:
        counted[row["channel"]][Verdict(row["verdict"])] = row["topics"]
    return counted


def _values(sleepers: IdleTopics, scans: ScanPolicy, moment: CycleMoment) -> tuple[Any, ...]:
    awake = [key for key, _ in sleepers.awake], [topic for _, topic in sleepers.awake]
    return list(sleepers.forums), *_knobs(scans, moment), *awake


def _knobs(scans: ScanPolicy, moment: CycleMoment) -> tuple[Any, ...]:
    return (
        moment.now,
        moment.now - scans.fresh_for,
        scans.cold_after_empty_scans,
        scans.cold_every_nth_cycle,
        moment.cycle,
        moment.whole,
    )
