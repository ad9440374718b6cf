"""``tidegate settings``: every setting's value, where it came from, and what it means."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tidegate.cli import command_runner
from tidegate.core import terminal


def show(json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Show every setting: its value, its source and its meaning."""
    command_runner.run(lambda: _show(as_json=json))


def _show(*, as_json: bool) -> None:
    from tidegate.app.settings_document import setting_rows

    rows = setting_rows(command_runner.loaded())
    if as_json:
        terminal.print_json([asdict(row) for row in rows])
    else:
        table = [(row.setting, "" if row.value is None else row.value, row.source, row.meaning) for row in rows]
        terminal.print_table(("setting", "value", "source", "meaning"), table, empty="", important="setting")
