"""``tidegate context``: the newest messages of a channel, as a bot reads them."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal

_BIGGEST = 2**63 - 1


def context(
    channel: Annotated[str, typer.Argument(help="The channel's title or number.")],
    *,
    limit: Annotated[int, typer.Option(min=1, max=50_000, metavar="N", help="Maximum number of messages.")] = 100,
    chars: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of characters.")] = None,
    before: Annotated[
        int | None, typer.Option(min=1, max=_BIGGEST, metavar="ID", help="Only messages before this one.")
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Include the text of deleted messages.")] = False,
    as_json: Json = False,
) -> None:
    """Print the newest messages of a channel. One line each, oldest first. Makes no platform call.

    If the history is incomplete, the first line names the message before which it is.
    """
    command_runner.run(_context(channel, limit, chars, before, deleted=deleted, as_json=as_json))


async def _context(
    named: str, limit: int, chars: int | None, before: int | None, *, deleted: bool, as_json: bool
) -> None:
    from tidegate.app.operator_requests import nothing_stored
    from tidegate.channels.queries import channels
    from tidegate.core.ids import MessageId
    from tidegate.history.queries.bot_context import ContextBounds, read

    bounds = ContextBounds(limit, chars, None if before is None else MessageId(before), deleted)
    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        kept = await channels.find(connection, named)
        found = await read(connection, kept, bounds, lambda moment: moment.astimezone())
    if as_json:
        terminal.print_json(found.as_json())
        return
    for line in found.lines:
        terminal.print_line(line)
    if not found.messages:
        terminal.say(nothing_stored(kept))
