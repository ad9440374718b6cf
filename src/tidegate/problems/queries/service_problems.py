"""Problems of the service itself: no worker, an old backup, tokens of a restored database."""

from __future__ import annotations

from tidegate.access.queries import tokens
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection
from tidegate.problems.problem import Problem, ProblemKind, ProblemLimits
from tidegate.workers.queries import workers


async def without_worker(connection: Connection) -> list[Problem]:
    """No worker is alive although there are accounts to serve."""
    if await workers.alive(connection):
        return []
    row = await connection.fetchrow(
        """
        SELECT (SELECT count(*) FROM accounts WHERE state = 'active') AS accounts,
            (SELECT max(coalesce(ended_at, beat_at)) FROM workers) AS since
        """
    )
    assert row is not None
    if not row["accounts"]:
        return []
    what = f"No worker is running, so nothing is mirrored or sent for {counted(row['accounts'], 'account')}."
    return [Problem(ProblemKind.NO_WORKER, what, "Start one: tidegate serve", row["since"])]


async def old_backup(connection: Connection, limits: ProblemLimits) -> list[Problem]:
    """The last backup that Tidegate made is older than the operator's setting."""
    row = await connection.fetchrow(
        "SELECT backed_up_at, extract(day FROM clock_now() - backed_up_at)::integer AS days FROM house "
        "WHERE backed_up_at < clock_now() - $1::interval",
        limits.backed_up_within,
    )
    if row is None:
        return []
    what = f"The last backup was made {counted(row['days'], 'day')} ago."
    return [Problem(ProblemKind.BACKUP_TOO_OLD, what, "Make one: tidegate db backup FILE", row["backed_up_at"])]


async def unconfirmed_tokens(connection: Connection) -> list[Problem]:
    """Tokens of a restored database, which open nothing until a person confirms them."""
    count = await tokens.count_unconfirmed(connection)
    if not count:
        return []
    what = f"{counted(count, 'token')} of a restored database must be confirmed before they work."
    return [Problem(ProblemKind.TOKENS_UNCONFIRMED, what, "Confirm them: tidegate token confirm NAME (or --all)")]
