"""``tidegate context``: the newest messages of a channel, as a bot reads them."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli import shell

_BIGGEST = 2**63 - 1


def context(
    channel: Annotated[str, typer.Argument(help="The channel's title or number.")],
    *,
    limit: Annotated[int, typer.Option(min=1, max=50_000, metavar="N", help="The newest so many messages.")] = 100,
    chars: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="As many of them as fit into so many characters.")
    ] = None,
    before: Annotated[
        int | None, typer.Option(min=1, max=_BIGGEST, metavar="ID", help="Only messages before this one.")
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Also what deleted messages said.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print the newest messages of a channel, one line each, oldest first; asks no platform.

    The first line says before which message the history is incomplete, as long as it is.
    """
    shell.run(_context(channel, limit, chars, before, deleted=deleted, as_json=as_json))


async def _context(
    named: str, limit: int, chars: int | None, before: int | None, *, deleted: bool, as_json: bool
) -> None:
    from tidegate.port import MessageId
    from tidegate.store import channels
    from tidegate.store.context import Bounds, read

    bounds = Bounds(limit, chars, None if before is None else MessageId(before), deleted)
    async with shell.house() as house, house.database.connection() as connection:
        kept = await channels.find(connection, named)
        found = await read(connection, kept, bounds, lambda moment: moment.astimezone())
    if as_json:
        shell.print_json(found.as_json())
        return
    for line in found.lines:
        print(line)
    if not found.messages:
        shell.say(
            f'No message of "{kept.title}" is stored there. Mirror it with: tidegate channel enable CHANNEL --full'
        )
