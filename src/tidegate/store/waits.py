"""What platforms asked to wait. A row outlives the worker that was told, so that its successor waits as well."""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.store import accounts, feed
from tidegate.store.database import Connection
from tidegate.words import AccountId, Claim, Scope, ScopeKind


async def remember(connection: Connection, claim: Claim, scope: Scope, pause: timedelta) -> None:
    """Keep that *scope* waits for *pause* from now, or longer if it was told so before; call inside a transaction."""
    await accounts.fence(connection, claim)
    row = await connection.fetchrow(
        """
        INSERT INTO waits (account, kind, key, until)
        VALUES ($1, $2, $3, clock_now() + make_interval(secs => $4))
        ON CONFLICT (account, kind, key) DO UPDATE SET until = greatest(waits.until, excluded.until)
        RETURNING until, (SELECT name FROM accounts WHERE id = $1) AS name
        """,
        claim.account, scope.kind.value, scope.key, pause.total_seconds(),
    )  # fmt: skip
    assert row is not None
    told = {"scope": scope.kind.value, "key": scope.key, "until": row["until"].isoformat()}
    await feed.record(connection, "lane.paused", row["name"], told)


async def load(connection: Connection, account: AccountId) -> dict[Scope, timedelta]:
    """What still has to wait, and how long from now by the database's clock."""
    rows = await connection.fetch(
        """
        WITH clock AS MATERIALIZED (SELECT clock_now() AS now)
        SELECT kind, key, until - now AS pause FROM waits, clock WHERE account = $1 AND until > now
        """,
        account,
    )
    return {Scope(ScopeKind(row["kind"]), row["key"]): row["pause"] for row in rows}


async def prune(connection: Connection, before: datetime, *, limit: int = 10_000) -> int:
    """Forget up to *limit* waits that ended before that instant; returns how many."""
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
