"""``tidegate reminder fire --dry-run``: what a firing would send, with no call and nothing stored."""

from __future__ import annotations

from typing import Any

from tidegate.cli import command_runner
from tidegate.core import terminal
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted


async def show_plan(name: str, *, as_json: bool) -> None:
    """Print the plan of a firing at this moment."""
    from tidegate.reminders.queries import reminders
    from tidegate.reminders.runs.run_plan import make_plan

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        kept = await reminders.find(connection, name)
        plan = await make_plan(connection, kept, at=kept.now)
    parts = len(plan.parts)
    rows: list[dict[str, Any]] = [
        {
            "target": target.title,
            "error": target.error,
            "parts": [
                {"kind": part.kind, "text": text, "media": part.file_name}
                for part, text in zip(plan.parts, plan.texts[place * parts : (place + 1) * parts], strict=True)
            ],
        }
        for place, target in enumerate(plan.targets)
    ]
    if as_json:
        terminal.print_json({"reminder": plan.kept.name, "sends": plan.sends, "targets": rows})
        return
    terminal.print_table(
        ["group", "message", "text", "file"],
        (
            [row["target"], row["error"] or f"{number} {part['kind']}", part["text"], part["media"]]
            for row in sorted(rows, key=lambda row: natural_key(row["target"]))
            for number, part in enumerate(row["parts"], 1)
        ),
        empty="", important="group",
    )  # fmt: skip
    reached = sum(not one.error for one in plan.targets)
    terminal.print_line(f"{counted(plan.sends, 'send')} to {counted(reached, 'group')}; nothing was sent.")
