"""``tidegate calls``: platform calls, grouped and counted."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.rules.natural_order import NaturalKey, natural_key
from tidegate.core.rules.readable_values import readable_time

_COLUMNS = ("account", "cycle", "kind", "method", "count", "errors", "unanswered", "not sent")
_ALWAYS = {"kind", "count", "errors"}


def show(
    by: Annotated[
        Literal["method", "account", "cycle"] | None,
        typer.Option(help="Group the totals by this. The default groups by account and method."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count platform calls, and those that failed.

    Kind "connect" counts what a client library sends on its own to connect, sign in and stay connected. Unanswered
    calls were recorded before a crash, and their outcome is unknown.
    """
    command_runner.run(_show(by, as_json=as_json))


async def _show(by: str | None, *, as_json: bool) -> None:
    from tidegate.core.durations import span_text
    from tidegate.lanes.documents import calls_rows
    from tidegate.lanes.queries.calls import CallGrouping, recorded_since

    async with command_runner.runtime() as runtime, runtime.database.pool.acquire() as connection:
        found = [asdict(one) for one in await calls_rows(connection, None if by is None else CallGrouping(by))]
        since = await recorded_since(connection)
    if as_json:
        terminal.print_json(found)
        return
    if since is not None:
        kept = span_text(runtime.settings.keep_calls_for)
        terminal.say(f"Platform calls since {readable_time(since)}; they are kept for {kept} (keep_calls_for).")
    rows = [[one[column.replace(" ", "_")] for column in _COLUMNS] for one in sorted(found, key=_by_account)]
    shown = [place for place, column in enumerate(_COLUMNS) if column in _ALWAYS or any(row[place] for row in rows)]
    terminal.print_table(
        [_COLUMNS[place] for place in shown],
        [[row[place] for place in shown] for row in rows],
        empty="No platform call was made yet.",
        important="method",
    )


def _by_account(row: dict[str, Any]) -> tuple[NaturalKey, int, str, str]:
    return natural_key(row["account"] or ""), row["cycle"] or 0, row["kind"], row["method"] or ""
