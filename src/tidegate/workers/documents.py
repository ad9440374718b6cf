"""Commands for the worker that serves an account, as the API shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.core.ids import CommandId
from tidegate.core.json_fields import Instant, instant
from tidegate.workers.queries.commands import CommandStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """A command for an account's owner: ``asked``, ``taken``, ``done`` with its result, ``failed`` with an error.

    The result has the shape that the command of the same name prints.
    """

    id: CommandId
    account: str
    kind: str
    state: str
    result: Any
    error: str | None
    asked_at: Instant
    ended_at: Instant | None


def command_row(command: CommandStatus) -> CommandRow:
    """A command as its row."""
    return CommandRow(
        id=command.id,
        account=command.account,
        kind=command.kind,
        state=command.answer.state,
        result=command.answer.result,
        error=command.answer.error,
        asked_at=command.asked_at.isoformat(),
        ended_at=instant(command.ended_at),
    )
