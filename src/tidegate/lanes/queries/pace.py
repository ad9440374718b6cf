"""The pace of every account, stored so that no crash, restart or takeover forgets which sends were made.

The rules are ``pace_bucket``, ``send_caps`` and ``slowdown_after_warning`` in ``lanes.rules``. Charging is also
implemented in SQL, as ``claim_send``. It must be one round trip, and must read the database's clock after the row is
locked. Rare changes use the rules themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim
from tidegate.core.errors import NotOurs, NotSent
from tidegate.core.ids import AccountId, CallId, RunId
from tidegate.database.notifier import mark
from tidegate.database.pool import Connection
from tidegate.lanes.rules.pace_bucket import Pace, PaceBucket, corrected, repaced
from tidegate.lanes.rules.send_caps import warm_up_cap, warm_up_since
from tidegate.lanes.rules.send_estimate import SendSupply
from tidegate.lanes.rules.slowdown_after_warning import Allowance, SendRate, climb, cut


@dataclass(frozen=True, slots=True)
class ChatLimit:
    """A chat that may get messages only at a pace of its own."""

    chat: str
    pace: Pace


@dataclass(frozen=True, slots=True)
class GrantedSend:
    """One send is charged and in the call log as *call*; the process's own clock should keep *gap* to the next."""

    call: CallId
    at: datetime
    gap: timedelta
    burst: int


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Nothing was charged. Ask again after *wait*; *by_chat* when only the chat is limited and other chats may send."""

    wait: timedelta
    by_chat: bool


@dataclass(frozen=True, slots=True)
class ShownPace:
    """An account's pace as it is displayed."""

    rate: int
    ceiling: int
    per_hour: int | None
    per_day: int | None
    not_before: datetime | None

    def __str__(self) -> str:
        parts = [f"{self.rate} a minute"]
        if self.rate < self.ceiling:
            parts[0] += f" of {self.ceiling} after a warning"
        parts += [f"{cap} {span}" for cap, span in ((self.per_hour, "an hour"), (self.per_day, "a day")) if cap]
        return ", ".join(parts)


async def claim_send(
    connection: Connection, claim: Claim, method: str, *, chat: ChatLimit | None = None, run: RunId | None = None
) -> GrantedSend | HeldBack:
    """Charge one send and write it to the call log, or return how long to wait; commits with the caller's transaction.

    Commit also when it returns a wait. A bucket that was missing, or ahead of a clock that went back, fills from now
    on.
    """
    row = await connection.fetchrow(
        "SELECT * FROM claim_send($1, $2, $3, $4, $5, $6, $7)",
        claim.account, claim.epoch, method, run,
        chat and chat.chat, chat and chat.pace.interval, chat and chat.pace.burst,
    )  # fmt: skip
    assert row is not None
    if row["clock_went_back"]:
        mark(connection)
    match row["verdict"]:
        case "granted":
            return GrantedSend(CallId(row["call"]), row["claimed"], row["gap"], row["burst"])
        case "wait":
            return HeldBack(row["wait"], by_chat=bool(row["by_chat"]))
        case "not active":
            raise NotSent("The account is paused or stopped, so nothing was sent; see: tidegate account list")
        case _:
            raise NotOurs(f"Account {claim.account} was taken over; nothing was sent in epoch {claim.epoch}.")


async def expect_chat(connection: Connection, account: AccountId, chat: ChatLimit) -> None:
    """Start to fill the bucket of a chat that will be sent to; a missing bucket is empty."""
    await connection.execute(
        "INSERT INTO chat_pace (account, chat, tat) VALUES ($1, $2, clock_now() + $3) ON CONFLICT DO NOTHING",
        account, chat.chat, chat.pace.interval * chat.pace.burst,
    )  # fmt: skip


async def set_pace(connection: Connection, account: AccountId, allowance: Allowance) -> None:
    """Store the operator's limits; call inside a transaction.

    An account without a pace starts at its ceiling with an empty bucket. One with a warning keeps its slower rate; any
    other follows its ceiling up and down.
    """
    row = await _locked(connection, account, allowance)
    warned = row.tempo.rate < row.ceiling
    rate = max(allowance.floor, min(row.tempo.rate, allowance.ceiling)) if warned else allowance.ceiling
    await _keep(connection, row, row.bucket, replace(row.tempo, rate=rate), allowance)


async def warn(connection: Connection, claim: Claim, allowance: Allowance, retry_after: timedelta) -> None:
    """Slow the account down after an account-wide warning and pause its sends; call inside a transaction."""
    await accounts.fence(connection, claim)
    row = await _locked(connection, claim.account, allowance)
    tempo, not_before = cut(row.tempo, allowance, retry_after, row.now)
    bucket = corrected(row.bucket, row.pace, row.now)
    if bucket.not_before is None or bucket.not_before < not_before:
        bucket = PaceBucket(bucket.tat, not_before=not_before, warned_at=row.now)
    await _keep(connection, row, bucket, tempo, allowance)


async def tune(connection: Connection, claim: Claim, allowance: Allowance) -> None:
    """Raise the rate after minutes without a warning and continue the warm-up; call once a minute, in a transaction."""
    await accounts.fence(connection, claim)
    row = await _locked(connection, claim.account, allowance)
    await _keep(connection, row, row.bucket, climb(row.tempo, allowance, row.claimed_at, row.now), allowance)


async def supply(connection: Connection, account: AccountId, allowance: Allowance) -> SendSupply:
    """What an account may send from now on, for an estimate: slower than the operator allows after a warning."""
    row = await connection.fetchrow(
        """
        SELECT p.rate, p.warm_since, count(c.id) AS spent, max(c.at) + interval '1 day' AS spent_until
        FROM pace p
        LEFT JOIN calls c ON c.account = p.account AND c.charged AND c.at > (SELECT clock_now()) - interval '1 day'
        WHERE p.account = $1
        GROUP BY p.account
        """,
        account,
    )
    if row is None:
        return SendSupply(allowance.pace(allowance.ceiling), allowance.caps, allowance.warm_up)
    pace = allowance.pace(min(row["rate"], allowance.ceiling))
    spent, until = row["spent"], row["spent_until"]
    return SendSupply(pace, allowance.caps, allowance.warm_up, row["warm_since"], spent=spent, spent_until=until)


async def empty_all(connection: Connection) -> None:
    """Empty every bucket, after a restore or failover that may have lost the last sends."""
    await connection.execute("UPDATE pace SET tat = clock_now() + gap * burst")
    await connection.execute("DELETE FROM chat_pace")


async def prune(connection: Connection, before: datetime, *, limit: int = 10_000) -> int:
    """Delete up to *limit* buckets of chats that were last sent to before that instant; returns how many."""
    removed = await connection.fetch(
        """
        DELETE FROM chat_pace
        WHERE (account, chat) IN (SELECT account, chat FROM chat_pace WHERE tat < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING 1
        """,
        before, limit,
    )  # fmt: skip
    return len(removed)


async def shown(connection: Connection) -> dict[AccountId, ShownPace]:
    """Every account's pace, for ``tidegate account list``."""
    rows = await connection.fetch(
        """
        SELECT account, rate, ceiling, per_hour, least(per_day, warm_cap) AS per_day,
            CASE WHEN not_before > clock_now() THEN not_before END AS not_before
        FROM pace
        """
    )
    return {
        AccountId(row["account"]): ShownPace(
            row["rate"], row["ceiling"], row["per_hour"], row["per_day"], row["not_before"]
        )
        for row in rows
    }


@dataclass(frozen=True, slots=True)
class _Row:
    """An account's stored pace, locked, and the database's time after the lock."""

    account: AccountId
    now: datetime
    bucket: PaceBucket
    pace: Pace
    tempo: SendRate
    ceiling: int
    warm_since: datetime | None
    claimed_at: datetime | None


async def _locked(connection: Connection, account: AccountId, allowance: Allowance) -> _Row:
    first = allowance.pace(allowance.ceiling)
    await connection.execute(
        """
        INSERT INTO pace (account, tat, gap, burst, rate, ceiling)
        VALUES ($1, clock_now() + $2, $3, $4, $5, $5)
        ON CONFLICT DO NOTHING
        """,
        account, first.horizon, first.interval, first.burst, first.rate,
    )  # fmt: skip
    row = await connection.fetchrow("SELECT * FROM pace WHERE account = $1 FOR UPDATE", account)
    assert row is not None
    return _Row(
        account=account,
        now=await connection.fetchval("SELECT clock_now()"),
        bucket=PaceBucket(row["tat"], row["not_before"], row["warned_at"]),
        pace=Pace(row["rate"], burst=row["burst"]),
        tempo=SendRate(row["rate"], row["cut_at"], row["back_off"], row["clean_since"]),
        ceiling=row["ceiling"],
        warm_since=row["warm_since"],
        claimed_at=row["claimed_at"],
    )


async def _keep(connection: Connection, row: _Row, bucket: PaceBucket, tempo: SendRate, allowance: Allowance) -> None:
    new = allowance.pace(tempo.rate)
    kept = bucket if new == row.pace else repaced(bucket, row.pace, new, row.now)
    warm_since = warm_cap = None
    if allowance.warm_up is not None:
        warm_since = warm_up_since(allowance.warm_up, row.warm_since, row.claimed_at, row.now)
        warm_cap = warm_up_cap(allowance.warm_up, warm_since, row.now)
    await connection.execute(
        """
        UPDATE pace
        SET tat = $2, not_before = $3, warned_at = $4, gap = $5, burst = $6, rate = $7, ceiling = $8,
            cut_at = $9, back_off = $10, clean_since = $11, per_hour = $12, per_day = $13,
            warm_since = $14, warm_cap = $15
        WHERE account = $1
        """,
        row.account, kept.tat, kept.not_before, kept.warned_at, new.interval, new.burst, new.rate, allowance.ceiling,
        tempo.cut_at, tempo.back_off, tempo.clean_since, allowance.caps.per_hour, allowance.caps.per_day,
        warm_since, warm_cap,
    )  # fmt: skip
