"""Rate limits that platforms asked for. They are stored, so that the next worker of an account waits as well."""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim
from tidegate.core.ids import AccountId
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.database.pool import Connection
from tidegate.events.kinds.lanes import LanePaused
from tidegate.events.queries import feed


async def remember(connection: Connection, claim: Claim, scope: Scope, pause: timedelta, *, why: str = "") -> None:
    """Store that *scope* is paused for *pause* from now; a longer stored pause stays. Call inside a transaction.

    *why* is stored with it where the platform did not ask for the pause.
    """
    await accounts.fence(connection, claim)
    await _correct(connection, claim.account)
    row = await connection.fetchrow(
        """
        INSERT INTO waits (account, kind, key, asked_at, until)
        SELECT $1, $2, $3, now, now + make_interval(secs => $4) FROM clock_now() AS now
        ON CONFLICT (account, kind, key) DO UPDATE
        SET asked_at = excluded.asked_at, until = greatest(waits.until, excluded.until)
        RETURNING until, (SELECT name FROM accounts WHERE id = $1) AS name
        """,
        claim.account, scope.kind.value, scope.key, pause.total_seconds(),
    )  # fmt: skip
    assert row is not None
    paused = LanePaused(scope=scope.kind.value, key=scope.key, until=row["until"], why=why or None)
    await feed.record(connection, row["name"], paused)


async def load(connection: Connection, account: AccountId) -> dict[Scope, timedelta]:
    """The pauses still in force, and how long each lasts by the database's clock; call inside a transaction."""
    await _correct(connection, account)
    rows = await connection.fetch(
        """
        WITH clock AS MATERIALIZED (SELECT clock_now() AS now)
        SELECT kind, key, until - now AS pause FROM waits, clock WHERE account = $1 AND until > now
        """,
        account,
    )
    return {Scope(ScopeKind(row["kind"]), row["key"]): row["pause"] for row in rows}


async def _correct(connection: Connection, account: AccountId) -> None:
    """Where the clock was set back, start each pause again from now, so that none exceeds its requested length."""
    moved = await connection.execute(
        """
        UPDATE waits SET asked_at = now, until = now + (until - asked_at) FROM clock_now() AS now
        WHERE account = $1 AND asked_at > now
        """,
        account,
    )
    if moved != "UPDATE 0":  # a parked channel reports that again in its next run, which costs no call
        await connection.execute("UPDATE channels SET parked_until = NULL WHERE reader = $1", account)


async def prune(connection: Connection, before: datetime, *, limit: int = 10_000) -> int:
    """Delete up to *limit* pauses that ended before that instant; returns how many."""
    removed = await connection.fetch(
        """
        DELETE FROM waits
        WHERE (account, kind, key) IN (
            SELECT account, kind, key FROM waits WHERE until < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
        """,
        before, limit,
    )  # fmt: skip
    return len(removed)
