"""Commands for the worker that serves an account: one row each, which also gets the answer."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidegate.core.account import Claim
from tidegate.core.ids import AccountId, CommandId, WorkerNumber
from tidegate.database.pool import Connection

CHANNEL = "tidegate_engine"
"""Where workers listen for commands, and for accounts that became free."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command for the worker that serves an account."""

    id: CommandId
    account: AccountId  # the account that it is for
    kind: str  # what to do, such as ``cycle``; a worker knows how by its handlers
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """How a command ended."""

    state: str
    result: Any  # what its handler returned
    error: str | None  # the sentence of what went wrong


@dataclass(frozen=True, slots=True)
class CommandStatus:
    """A command as the API shows it: the name of its account, and its state."""

    id: CommandId
    account: str
    kind: str
    answer: CommandAnswer
    asked_at: datetime
    ended_at: datetime | None


async def ask(connection: Connection, account: AccountId, kind: str, args: dict[str, Any]) -> CommandId:
    """Store a command for the worker that serves the account and wake it; call inside a transaction."""
    number = await connection.fetchval(
        "INSERT INTO commands (account, kind, args) VALUES ($1, $2, $3) RETURNING id", account, kind, args
    )
    await wake(connection)
    return CommandId(number)


async def ask_once(connection: Connection, account: AccountId, kind: str) -> None:
    """Store a command unless the same one already waits, and wake the worker; call inside a transaction."""
    await connection.execute(
        """
        INSERT INTO commands (account, kind, args)
        SELECT $1, $2, '{}'
        WHERE NOT EXISTS (SELECT FROM commands WHERE account = $1 AND kind = $2 AND state = 'asked')
        """,
        account, kind,
    )  # fmt: skip
    await wake(connection)


async def wake(connection: Connection) -> None:
    """Make every worker start its next round at once."""
    await connection.execute(f"NOTIFY {CHANNEL}")


async def take(
    connection: Connection, owner: WorkerNumber, *, serving: Container[AccountId], running: Container[CommandId]
) -> list[Command]:
    """Take every command for the accounts *owner* serves: new ones, and those that were taken and never finished."""
    open_ = await connection.fetch(
        """
        SELECT c.id, c.account, c.kind, c.args
        FROM commands c JOIN accounts a ON a.id = c.account
        WHERE c.state IN ('asked', 'taken') AND a.owner = $1
        ORDER BY c.id
        """,
        owner,
    )
    ready = [Command(**dict(row)) for row in open_ if row["account"] in serving and row["id"] not in running]
    if ready:
        await connection.execute(
            """
            UPDATE commands c
            SET state = 'taken', epoch = a.epoch
            FROM accounts a
            WHERE c.id = ANY($2) AND a.id = c.account AND a.owner = $1 AND c.state IN ('asked', 'taken')
            """,
            owner,
            [command.id for command in ready],
        )
    return ready


async def answer(connection: Connection, command: CommandId, claim: Claim, answer: CommandAnswer) -> bool:
    """Write the answer; False when the command no longer belongs to this owner."""
    done = await connection.execute(
        """
        UPDATE commands
        SET state = $2, result = $3, error = $4, ended_at = clock_now()
        WHERE id = $1 AND state = 'taken' AND epoch = $5
        """,
        command, answer.state, answer.result, answer.error, claim.epoch,
    )  # fmt: skip
    return bool(done == "UPDATE 1")


async def answer_of(connection: Connection, command: CommandId) -> CommandAnswer | None:
    """The answer, once there is one."""
    row = await connection.fetchrow(
        "SELECT state, result, error FROM commands WHERE id = $1 AND state IN ('done', 'failed')", command
    )
    return CommandAnswer(**dict(row)) if row else None


async def tell(connection: Connection, command: CommandId) -> CommandStatus | None:
    """A command, answered or not; None when there is none of that number, or no longer, or it names a private chat
    or the person of one.

    A result about all channels is shown without private chats.
    """
    row = await connection.fetchrow(
        """
        SELECT c.id, a.name AS account, c.kind, c.state, c.result, c.error, c.asked_at, c.ended_at
        FROM commands c JOIN accounts a ON a.id = c.account
        WHERE c.id = $1 AND NOT coalesce(c.args ? 'person', false) AND NOT EXISTS (
            SELECT FROM channels p
            WHERE p.private_to IS NOT NULL
              AND (p.number::text = c.args ->> 'channel' OR c.args -> 'channels' @> to_jsonb(p.id))
        )
        """,
        command,
    )
    if row is None:
        return None
    answer = CommandAnswer(row["state"], await _public(connection, row["result"]), row["error"])
    return CommandStatus(row["id"], row["account"], row["kind"], answer, row["asked_at"], row["ended_at"])


async def _public(connection: Connection, result: Any) -> Any:
    """The result of a command without the rows of private chats, and with the counts of those that are left."""
    found = result if isinstance(result, dict) else {}
    lists = {name: found[name] for name in ("channels", "closed") if isinstance(found.get(name), list)}
    if not lists:
        return result
    numbers = [one["channel"] for rows in lists.values() for one in rows]
    private = await connection.fetch(
        "SELECT number FROM channels WHERE private_to IS NOT NULL AND number = ANY($1)", numbers
    )
    hidden = {row["number"] for row in private}
    shown: dict[str, Any] = {
        name: [one for one in rows if one["channel"] not in hidden] for name, rows in lists.items()
    }
    if "failed" in found:
        failed = sum(one["error"] is not None for one in shown["channels"])
        shown |= {"succeeded": len(shown["channels"]) - failed, "failed": failed}
    return found | shown
