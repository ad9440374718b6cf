"""``tidegate status``: whether all is well, and what needs a person."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from tidegate.cli import command_runner
from tidegate.cli.error_messages import explain
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import TidegateError
from tidegate.core.rules.readable_values import counted, readable_time

if TYPE_CHECKING:
    from tidegate.app.doctor.status_report import StatusReport


def show(*, json: Json = False) -> None:
    """Show whether all is well, and what needs you. Exits with 1 if anything does."""
    command_runner.run(_show(as_json=json))


async def _show(*, as_json: bool) -> None:
    found = await _report()
    if as_json:
        terminal.print_json(asdict(found.document()))
    else:
        _print(found)
    if found.problems:
        raise typer.Exit(1)


async def _report() -> StatusReport:
    import asyncpg

    from tidegate.app.doctor.status_report import report, unreachable

    settings = command_runner.settings()
    try:
        async with command_runner.runtime(settings) as runtime:
            return await report(runtime)
    except (TidegateError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:
        return unreachable(settings, explain(problem).sentence)


def _print(found: StatusReport) -> None:
    if not found.problems:
        terminal.print_line("All good, nothing needs you.")
    else:
        need = "needs" if len(found.problems) == 1 else "need"
        terminal.print_line(f"{counted(len(found.problems), 'problem')} {need} attention:")
        for one in found.problems:
            since = f" Since {readable_time(one.since)}." if one.since else ""
            terminal.print_line(f"- {one.what}{since}")
            terminal.print_line(f"  {one.action}")
    terminal.print_line("")
    for name, value in _figures(found):
        terminal.print_line(f"{name:<9} {value}")


def _figures(found: StatusReport) -> list[tuple[str, str]]:
    from zoneinfo import ZoneInfo

    figures, lines = found.figures, list[tuple[str, str]]()
    if figures is not None:
        checked = f", last check {readable_time(figures.checked_at)}" if figures.checked_at else ""
        lines = [
            ("accounts", f"{figures.connected} of {figures.accounts} connected"),
            ("workers", f"{found.workers} running"),
            ("channels", f"{figures.channels:,} mirrored{checked}"),
            ("sending", f"{counted(figures.runs, 'run')} in progress"),
        ]
        if figures.next_due_at and figures.next_zone:
            due = readable_time(figures.next_due_at, ZoneInfo(figures.next_zone))
            lines.append(("next", f'"{figures.next_reminder}" at {due}'))
        if figures.backed_up_at:
            lines.append(("backup", readable_time(figures.backed_up_at)))
    return [*lines, ("disk", found.disk.words)]
