"""What a cycle thinks of the topics that are followed on their own, asked of the database whatever their number.

``rules.scanning`` is the truth; the conditions here are its twin, and property tests hold the two together. One query
counts verdicts and names the topics that are read whatever the gate says; they become objects when their forum is read.
Only those with a failure are objects from the start. What becomes of the rest is stored in SQL. They are read in one
pass without an index on ``last_scanned_at``: such an index would have to be written again with every scan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.port import ChannelId
from tidegate.rules.retrying import RetryHabits
from tidegate.rules.scanning import ScanHabits, Verdict, decide_scan
from tidegate.store import failures, places
from tidegate.store.channels import WHOLE
from tidegate.store.database import Connection
from tidegate.store.failures import count_failures
from tidegate.store.places import Memory, Place, Topics
from tidegate.words import AccountId

# $1 is the account, or its forums; $2 to $7 are the moment and the knobs. Failures are left out, because a topic that
# has one is an object. A scan later than now (the clock went back) is not fresh, as in the rule.
_FRESH = "(NOT p.last_scan_found_archives AND p.last_scanned_at <= $2 AND p.last_scanned_at > $3)"
_COLD = f"(p.consecutive_empty_scans >= $4 AND p.last_scanned_at IS NOT NULL AND NOT {_FRESH})"
_ITS_TURN = "(mod($6 + p.turn_offset, $5) = 0)"
_READ_ANYWAY = f"(p.last_scanned_at IS NULL OR p.asked OR ($7 AND {_COLD} AND {_ITS_TURN}))"
_FOLLOWED = "p.topic <> 0 AND p.selected AND p.gone_at IS NULL"

_SWEEP = f"""
    SELECT p.channel, c.state <> 'unreadable' AS readable, count(*) AS topics,
        count(*) FILTER (WHERE p.last_scanned_at IS NULL) AS first,
        count(*) FILTER (WHERE p.asked AND p.last_scanned_at IS NOT NULL) AS asked,
        count(*) FILTER (WHERE NOT p.asked AND {_FRESH}) AS fresh,
        count(*) FILTER (WHERE NOT p.asked AND {_COLD} AND NOT {_ITS_TURN}) AS cold,
        coalesce(array_agg(p.topic) FILTER (WHERE {_READ_ANYWAY}), '{{}}') AS wanted
    FROM channels c JOIN places p ON p.channel = c.id
    WHERE c.reader = $1 AND c.enabled AND c.by_topic AND {_FOLLOWED} AND ($8::bigint[] IS NULL OR c.number = ANY($8))
    GROUP BY p.channel, c.state
"""

_ASLEEP = f"""
    p.channel = ANY($1) AND {_FOLLOWED} AND NOT {_READ_ANYWAY}
    AND (p.channel, p.topic) NOT IN (SELECT * FROM unnest($8::bigint[], $9::bigint[]))
"""
_SKIPPED = f"({_FRESH} OR ({_COLD} AND NOT {_ITS_TURN}))"


@dataclass(frozen=True, slots=True)
class Moment:
    """When a cycle decides: the instant, and its number, by which turns are counted; only a *whole* one has turns."""

    now: datetime
    cycle: int
    whole: bool


async def load_awake(
    connection: Connection,
    account: AccountId,
    scans: ScanHabits,
    retries: RetryHabits,
    *,
    only: Collection[ChannelId] | None = None,
) -> Memory:
    """What an account's next cycle starts from: its channels, topics with failures, and what is known of the others.

    Over *only* some channels it is no full cycle, and nobody's turn comes.
    """
    now, cycle = await places.start(connection, account)
    moment = Moment(now, cycle + 1 if only is None else cycle, whole=only is None)
    failed = await failures.of_reader(connection, account, only=only)
    swept = await connection.fetch(_SWEEP, account, *_knobs(scans, moment), None if only is None else list(only))
    counted = (at for counts in count_failures(failed, retries, now) for at, count in counts.items() if count)
    failing = {(key, topic) for key, topic in counted if topic != WHOLE}
    objects = await places.load_some(connection, account, failing, failed=failed, habits=retries, now=now, only=only)
    topics = {one["channel"]: _topics(one) for one in swept}
    for place in objects:
        if place.topic != WHOLE:
            _leave_out(topics[place.key], place, scans, moment)
    return Memory(now, cycle, objects, failed, topics)


async def rest(
    connection: Connection,
    forums: Collection[int],
    awake: Collection[tuple[int, int]],
    scans: ScanHabits,
    moment: Moment,
) -> None:
    """Store what becomes of the topics of unchanged forums (by their keys) that are not *awake*.

    Those that are skipped get their verdict. The others were looked at by the gate and found empty, as in the rule
    ``after_scan``. The first go first, since the second would look fresh to them.
    """
    values = (
        list(forums), *_knobs(scans, moment), [key for key, _ in awake], [topic for _, topic in awake]
    )  # fmt: skip
    skip = f"CASE WHEN {_FRESH} THEN '{Verdict.FRESH.value}' ELSE '{Verdict.COLD.value}' END"
    await connection.execute(
        f"UPDATE places p SET verdict = {skip} WHERE {_ASLEEP} AND {_SKIPPED} AND p.verdict IS DISTINCT FROM {skip}",
        *values,
    )
    await connection.execute(
        f"""
        UPDATE places p
        SET last_scanned_at = clock_now(), last_scan_found_archives = false, verdict = '{Verdict.UNCHANGED.value}',
            consecutive_empty_scans = p.consecutive_empty_scans + 1, watermark = greatest(p.watermark, p.newest_seen)
        WHERE {_ASLEEP} AND NOT {_SKIPPED}
        """,
        *values,
    )


async def note_unreadable(connection: Connection, forums: Collection[int]) -> None:
    """Store that nobody can read the topics of these forums."""
    await connection.execute(
        f"UPDATE places p SET verdict = $2 WHERE p.channel = ANY($1) AND {_FOLLOWED} AND p.verdict IS DISTINCT FROM $2",
        list(forums), Verdict.UNREADABLE.value,
    )  # fmt: skip


def _knobs(scans: ScanHabits, moment: Moment) -> tuple[Any, ...]:
    return (
        moment.now,
        moment.now - scans.fresh_for,
        scans.cold_after_empty_scans,
        scans.cold_every_nth_cycle,
        moment.cycle,
        moment.whole,
    )


def _topics(row: asyncpg.Record) -> Topics:
    if not row["readable"]:
        return Topics(set(), Counter(), Counter({Verdict.UNREADABLE: row["topics"]}))
    wanted = set(row["wanted"])
    turns = len(wanted) - row["first"] - row["asked"]
    gated = row["topics"] - row["fresh"] - row["cold"] - len(wanted)
    return Topics(
        wanted,
        wanting=Counter({Verdict.FIRST: row["first"], Verdict.ASKED: row["asked"], Verdict.GATE: turns}),
        asleep=Counter({Verdict.FRESH: row["fresh"], Verdict.COLD: row["cold"], Verdict.GATE: gated}),
    )


def _leave_out(topics: Topics, place: Place, scans: ScanHabits, moment: Moment) -> None:
    """Count a topic no more that is an object; the sweep knew nothing of its failures."""
    memory = replace(place.memory, failures_to_retry=0, failures_pending=0)
    verdict = decide_scan(memory, scans, now=moment.now, turn=moment.cycle + place.turn_offset)
    (topics.wanting if place.topic in topics.wanted else topics.asleep)[verdict] -= 1
    topics.wanted.discard(place.topic)
