"""Commands left for the worker that serves an account, as whoever asked looks at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.shapes.instants import Instant, instant
from tidegate.store.commands import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """Something asked of an account's owner: ``asked``, ``taken``, ``done`` with its result, ``failed`` with an error.

    The result has the shape that the command of the same name prints.
    """

    id: int
    account: str
    kind: str
    state: str
    result: Any
    error: str | None
    asked_at: Instant
    ended_at: Instant | None


def command_row(told: Told) -> CommandRow:
    """A command as its row."""
    return CommandRow(
        id=told.id,
        account=told.account,
        kind=told.kind,
        state=told.state,
        result=told.result,
        error=told.error,
        asked_at=told.asked_at.isoformat(),
        ended_at=instant(told.ended_at),
    )
