"""``tidegate calls``: what it cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from tidegate.cli import shell

_COLUMNS = ("account", "cycle", "kind", "method", "count", "errors", "unanswered", "not sent")
_ALWAYS = {"kind", "count", "errors"}


def show(
    by: Annotated[
        Literal["method", "account", "cycle"] | None,
        typer.Option(help="Sum over everything but this; left out, over each account's methods."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False,
) -> None:
    """Show how many platform calls were made, and how many of them failed.

    Kind "connect" is what a client library sends by itself to connect, sign in and stay alive. Unanswered calls were
    claimed before a crash: nobody knows whether they were made.
    """
    shell.run(_show(by, as_json=as_json))


async def _show(by: str | None, *, as_json: bool) -> None:
    from tidegate.shapes.calls import calls_rows
    from tidegate.store.calls import By

    async with shell.house() as house, house.database.pool.acquire() as connection:
        found = [asdict(one) for one in await calls_rows(connection, None if by is None else By(by))]
    if as_json:
        shell.print_json(found)
        return
    rows = [[one[column.replace(" ", "_")] for column in _COLUMNS] for one in found]
    shown = [place for place, column in enumerate(_COLUMNS) if column in _ALWAYS or any(row[place] for row in rows)]
    shell.print_table(
        [_COLUMNS[place] for place in shown],
        [[row[place] for place in shown] for row in rows],
        empty="No platform call was made yet.",
    )
