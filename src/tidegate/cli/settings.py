"""``tidegate settings``: every setting's value, where it came from, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell

if TYPE_CHECKING:
    from tidegate.sources import Loaded

Shown = dict[str, str | int | float | bool | None]


def show(json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False) -> None:
    """Show every setting: its value, where the value came from, and what it means."""
    shell.run(lambda: _show(as_json=json))


def _show(*, as_json: bool) -> None:
    rows = describe(shell.loaded())
    if as_json:
        shell.print_json(rows)
    else:
        table = [
            (row["setting"], "" if row["value"] is None else row["value"], row["source"], row["meaning"])
            for row in rows
        ]
        shell.print_table(("setting", "value", "source", "meaning"), table, empty="There are no settings.")


def describe(loaded: Loaded) -> list[Shown]:
    """Each setting as ``{"setting", "value", "source", "meaning"}``; of a secret only that it is set."""
    from tidegate.settings import Settings
    from tidegate.sources import shown

    return [
        {
            "setting": name,
            "value": shown(getattr(loaded.settings, name)),
            "source": loaded.sources[name],
            "meaning": field.description,
        }
        for name, field in Settings.model_fields.items()
    ]
