"""What an account has to do before its next cycle: channels that are new, failures that are due, sets to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.accounts.queries import accounts
from tidegate.archives.queries import archive_sets, failures
from tidegate.archives.rules.retry import RetryPolicy, due_at
from tidegate.archives.rules.set_assembly import SetPolicy
from tidegate.core.account import Claim
from tidegate.core.ids import AccountId, ChannelId
from tidegate.database.pool import Connection
from tidegate.scans.queries import scan_memory
from tidegate.scans.rules.scan_decision import ScanPolicy, cycles_until_turn
from tidegate.workers.queries import workers


@dataclass(frozen=True, slots=True)
class DueWork:
    """What is next, as of *now* by the database's clock; None where nothing is."""

    now: datetime
    new: list[ChannelId]
    retry_at: datetime | None
    judge_at: datetime | None


async def load(
    connection: Connection, account: AccountId, retries: RetryPolicy, sets: SetPolicy, *, judged_at: datetime | None
) -> DueWork:
    """What is next for *account*, whose open sets were last judged at *judged_at*."""
    row = await connection.fetchrow(
        """
        SELECT clock_now() AS now,
            (SELECT ended_at FROM cycles WHERE account = $1 AND whole ORDER BY id DESC LIMIT 1) AS cycle_ended
        """,
        account,
    )
    assert row is not None
    now = row["now"]
    failed = [one.failure for one in await failures.of_reader(connection, account) if not one.in_hand]
    due = [due_at(one, retries, now=now, cycle_ended=row["cycle_ended"] or now) for one in failed]
    return DueWork(
        now=now,
        new=await _new(connection, account),
        retry_at=min((at for at in due if at is not None), default=None),
        judge_at=await _judge_at(connection, account, sets, judged_at or now),
    )


async def _new(connection: Connection, account: AccountId) -> list[ChannelId]:
    """Channels that were enabled, or topics selected, since the last cycle."""
    rows = await connection.fetch(
        """
        SELECT DISTINCT c.number
        FROM channels c JOIN places p ON p.channel = c.id
        WHERE c.reader = $1 AND c.enabled AND c.state <> 'unreadable'
          AND p.never_scanned AND (p.topic = 0 OR p.selected)
          AND (p.topic = 0 OR (c.by_topic AND p.gone_at IS NULL))
        """,
        account,
    )
    return [ChannelId(row["number"]) for row in rows]


async def _judge_at(connection: Connection, account: AccountId, sets: SetPolicy, since: datetime) -> datetime | None:
    """When the next set has been quiet, or has waited, for as long as the operator set."""
    at: datetime | None = await connection.fetchval(
        """
        SELECT min(t)
        FROM channels c JOIN archives a ON a.channel = c.id AND a.state = 'collecting',
            LATERAL (SELECT max(seen_at) AS seen FROM archive_parts p WHERE p.archive = a.id AND NOT p.spare) AS last,
            unnest(ARRAY[last.seen + $2::interval, last.seen + $3::interval]) AS t
        WHERE c.reader = $1 AND c.enabled AND t > $4
        """,
        account, sets.quiet_for, sets.collect_for, since,
    )  # fmt: skip
    return at


async def judge(connection: Connection, claim: Claim, sets: SetPolicy) -> datetime:
    """Judge the open sets of all channels an account reads; returns the instant."""
    await accounts.fence(connection, claim)
    now: datetime = await connection.fetchval("SELECT clock_now()")
    rows = await connection.fetch("SELECT id FROM channels WHERE reader = $1 AND enabled", claim.account)
    await archive_sets.judge(connection, [row["id"] for row in rows], now, sets)
    return now


async def expect_cycle(connection: Connection, claim: Claim, span: timedelta) -> None:
    """Store when the account's next cycle is expected; a difference of a second is not worth a write."""
    await connection.execute(
        """
        UPDATE accounts SET next_cycle_at = clock_now() + $3
        WHERE id = $1 AND epoch = $2
          AND (next_cycle_at IS NULL OR next_cycle_at NOT BETWEEN clock_now() + $3 - interval '1 s'
                                                            AND clock_now() + $3 + interval '1 s')
        """,
        claim.account, claim.epoch, span,
    )  # fmt: skip


async def next_cycles(connection: Connection, of: Sequence[AccountId]) -> dict[AccountId, datetime]:
    """When the next cycles of these accounts are expected; those that no worker serves are left out."""
    rows = await connection.fetch(
        f"""
        SELECT a.id, greatest(a.next_cycle_at, clock_now()) AS at FROM accounts a
        WHERE a.id = ANY($1) AND a.next_cycle_at IS NOT NULL AND a.id IN ({workers.SERVED})
        """,
        list(of),
    )
    return {AccountId(row["id"]): row["at"] for row in rows}


async def next_dues(
    connection: Connection,
    looked_at: Sequence[tuple[AccountId | None, asyncpg.Record]],
    scans: ScanPolicy,
    every: timedelta,
) -> list[datetime]:
    """When each place, given with its reader, is read: in the reader's next cycle, a cold one in its turn.

    A worker makes a cycle when it starts, so where no worker serves the account the next cycle counts as now.
    """
    now: datetime = await connection.fetchval("SELECT clock_now()")
    rows = await connection.fetch(
        f"""
        SELECT a.id, a.next_cycle_at AS at, a.cycle FROM accounts a
        WHERE a.id = ANY($1) AND a.next_cycle_at IS NOT NULL AND a.id IN ({workers.SERVED})
        """,
        list({account for account, _ in looked_at if account is not None}),
    )
    served = {row["id"]: row for row in rows}

    def due(account: AccountId | None, place: asyncpg.Record) -> datetime:
        if account is None or (row := served.get(account)) is None:
            return now
        waits = cycles_until_turn(scan_memory.memory_of(place), scans, turn=row["cycle"] + 1 + place["turn_offset"])
        at: datetime = max(now, row["at"])
        return at + waits * every

    return [due(account, place) for account, place in looked_at]
