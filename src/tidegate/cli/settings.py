"""``tidegate settings``: every setting's value, where it came from, and what it means."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tidegate.cli import shell


def show(json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False) -> None:
    """Show every setting: its value, where the value came from, and what it means."""
    shell.run(lambda: _show(as_json=json))


def _show(*, as_json: bool) -> None:
    from tidegate.shapes.settings import setting_rows

    rows = setting_rows(shell.loaded())
    if as_json:
        shell.print_json([asdict(row) for row in rows])
    else:
        table = [(row.setting, "" if row.value is None else row.value, row.source, row.meaning) for row in rows]
        shell.print_table(("setting", "value", "source", "meaning"), table, empty="There are no settings.")
