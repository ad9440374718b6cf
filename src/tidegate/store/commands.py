"""What people ask of the worker that serves an account: a row each, answered in the row."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidegate.store.database import Connection
from tidegate.words import AccountId, Claim, CommandId, WorkerNumber

CHANNEL = "tidegate_engine"
"""Where workers listen for commands, and for accounts that became free."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something asked of an account's owner."""

    id: CommandId
    account: AccountId
    kind: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a command ended."""

    state: str
    result: Any
    error: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """A command as whoever asked sees it: by the name of its account, and how far it is."""

    id: int
    account: str
    kind: str
    state: str
    result: Any
    error: str | None
    asked_at: datetime
    ended_at: datetime | None


async def ask(connection: Connection, account: AccountId, kind: str, args: dict[str, Any]) -> CommandId:
    """Leave a command for the owner and wake it; call inside a transaction."""
    number = await connection.fetchval(
        "INSERT INTO commands (account, kind, args) VALUES ($1, $2, $3) RETURNING id", account, kind, args
    )
    await wake(connection)
    return CommandId(number)


async def ask_once(connection: Connection, account: AccountId, kind: str) -> None:
    """Leave a command for the owner, unless the same waits to be taken up, and wake it; inside a transaction."""
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
    """Have every worker look around at once instead of at its next beat."""
    await connection.execute(f"NOTIFY {CHANNEL}")


async def take(
    connection: Connection, owner: WorkerNumber, *, serving: Container[AccountId], running: Container[CommandId]
) -> list[Command]:
    """Take every command for the accounts *owner* is serving: new ones, and those somebody took and never finished."""
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


async def answer(connection: Connection, command: CommandId, claim: Claim, answer: Answer) -> bool:
    """Write the answer; False when the command is no longer this owner's to answer."""
    done = await connection.execute(
        """
        UPDATE commands
        SET state = $2, result = $3, error = $4, ended_at = clock_now()
        WHERE id = $1 AND state = 'taken' AND epoch = $5
        """,
        command, answer.state, answer.result, answer.error, claim.epoch,
    )  # fmt: skip
    return bool(done == "UPDATE 1")


async def answer_of(connection: Connection, command: CommandId) -> Answer | None:
    """The answer, once there is one."""
    row = await connection.fetchrow(
        "SELECT state, result, error FROM commands WHERE id = $1 AND state IN ('done', 'failed')", command
    )
    return Answer(**dict(row)) if row else None


async def tell(connection: Connection, command: int) -> Told | None:
    """A command that was asked, answered or not; None when there is none of that number, or no longer."""
    row = await connection.fetchrow(
        """
        SELECT c.id, a.name AS account, c.kind, c.state, c.result, c.error, c.asked_at, c.ended_at
        FROM commands c JOIN accounts a ON a.id = c.account WHERE c.id = $1
        """,
        command,
    )
    return Told(**dict(row)) if row else None
