"""``tidegate status``: whether all is well, and what needs a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.error_messages import explain
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import TidegateError
from tidegate.core.rules.readable_values import counted, readable_time

if TYPE_CHECKING:
    from tidegate.app.doctor.status_report import StatusReport
    from tidegate.problems.problem import Problem, ProblemKind

_EACH = 2
"""So many problems are shown with what to do about them; of more there is one line each."""
_KINDS = 3
"""How many kinds of problems have a line then."""


def show(
    every: Annotated[bool, typer.Option("--all", help="Show every problem, and what to do about it.")] = False,
    json: Json = False,
) -> None:
    """Show in ten lines whether all is well, and what needs you. Exits with 1 if anything does."""
    command_runner.run(_show(every=every, as_json=json))


async def _show(*, every: bool, as_json: bool) -> None:
    found = await _report()
    if as_json:
        terminal.print_json(asdict(found.document()))
    else:
        _print(found, every=every)
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


def _print(found: StatusReport, *, every: bool) -> None:
    if not found.problems:
        terminal.print_line("All good, nothing needs you.")
    else:
        need = "needs" if len(found.problems) == 1 else "need"
        terminal.print_line(f"{counted(len(found.problems), 'problem')} {need} attention:")
        shown = _one_by_one if every or len(found.problems) <= _EACH else _at_a_glance
        for line in shown(found.problems):
            terminal.print_line(line)
    terminal.print_line("")
    for name, value in _figures(found):
        terminal.print_line(f"{name:<9} {value}")


def _one_by_one(problems: Sequence[Problem]) -> Iterator[str]:
    for one in problems:
        yield f"- {_what(one)}"
        yield f"  {one.action}"


def _at_a_glance(problems: Sequence[Problem]) -> Iterator[str]:
    """The most urgent kinds, a line each; however many there are, these are four lines at most."""
    by_kind: dict[ProblemKind, list[Problem]] = {}
    for one in problems:
        by_kind.setdefault(one.kind, []).append(one)
    kinds = list(by_kind.values())
    for alike in kinds[:_KINDS]:
        yield f"- {_what(alike[0])}{f' And {len(alike) - 1:,} more like it.' if len(alike) > 1 else ''}"
    others = sum(map(len, kinds[_KINDS:]))
    yield f"- {f'{others:,} more, and what' if others else 'What'} to do about each: tidegate status --all"


def _what(one: Problem) -> str:
    return f"{one.what} Since {readable_time(one.since)}." if one.since else one.what


def _figures(found: StatusReport) -> list[tuple[str, str]]:
    from zoneinfo import ZoneInfo

    figures = found.figures
    if figures is None:
        return [("disk", found.disk.words)]
    workers = counted(found.workers or 0, "worker")
    sending = f"{counted(figures.runs, 'run')} in progress"
    if figures.next_due_at and figures.next_zone:
        due = readable_time(figures.next_due_at, ZoneInfo(figures.next_zone))
        sending += f', next "{figures.next_reminder}" at {due}'
    checked = f", last check {readable_time(figures.checked_at)}" if figures.checked_at else ""
    backup = f", last backup {readable_time(figures.backed_up_at)}" if figures.backed_up_at else ""
    return [
        ("accounts", f"{figures.connected} of {figures.accounts} connected, {workers} running"),
        ("channels", f"{figures.channels:,} mirrored{checked}"),
        ("sending", sending),
        ("disk", f"{found.disk.words}{backup}"),
    ]
