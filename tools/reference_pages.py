"""Writes the reference pages of docs/ from the code: ``./dev docs``. A test compares them with what is committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from tidegate.app.setting_sources import allowed, shown, variables
from tidegate.app.settings import Settings
from tidegate.cli import app
from tidegate.core.terminal import print_line
from tidegate.events.event_reference_page import page as events_page

DOCS = Path(__file__).parent.parent / "docs"

GENERATED = "<!-- Written by ./dev docs from the code. Do not edit. -->"

SECTIONS = {
    "home": "Database and data folder",
    "worker_name": "Workers",
    "web_host": "Web and logs",
    "keep_calls_for": "Retention",
    "max_send_per_minute": "Sending",
    "telegram_reads_per_second": "Reading",
    "telegram_api_id": "Scanning",
    "discord_cycle_every": "History",
    "fire_concurrency": "Reminders",
}
"""The setting that begins each section; the model's order gives the rest."""

DEPENDS_ON_THE_MACHINE = {
    "home": "`/var/lib/tidegate` for root, else `~/.local/share/tidegate`",
    "worker_name": "host name and process number",
}


def commands_page() -> str:
    """Every command with its help, arguments and options, as ``--help`` shows them."""
    intro = (
        "Every command, as `tidegate COMMAND --help` explains it. Each also has `--help`.\n"
        "[json.md](json.md) describes exit codes and the output of `--json`.\n"
        "[operating.md](operating.md) explains when to use which command."
    )
    return _page("# Commands", intro, *_command_sections(typer.main.get_command(app), None, "tidegate"))


def _command_sections(command: Any, above: Any, name: str) -> Iterator[str]:
    context = command.context_class(command, info_name=name, parent=above)
    if below := getattr(command, "commands", None):
        if above is not None:
            yield f"## {context.command_path}"
            yield command.help
        for inner in below:
            yield from _command_sections(below[inner], context, inner)
        return
    level = "##" if above.parent is None else "###"
    yield f"{level} `{context.command_path}`"
    yield command.help
    taken = [one for one in command.params if one.name != "help"]
    arguments = [_argument(one) for one in taken if one.param_type_name == "argument"]
    options = ["[OPTIONS]"] if len(taken) > len(arguments) else []
    yield f"```sh\n{' '.join([context.command_path, *options, *arguments])}\n```"
    if taken:
        yield _table(("argument or option", "meaning"), (_meaning(one, context) for one in taken))


def _argument(parameter: Any) -> str:
    name = _name(parameter) + ("…" if parameter.nargs != 1 else "")
    return name if parameter.required else f"[{name}]"


def _name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper()).strip("[]")


def _meaning(parameter: Any, context: Any) -> tuple[str, str]:
    """A row for one argument or option."""
    if parameter.param_type_name == "argument":
        return f"`{_name(parameter)}`", parameter.help
    written, meaning = parameter.get_help_record(context)
    return f"`{written}`", meaning.replace("  [", " [")


def settings_page() -> str:
    """Every setting with its default, what is allowed, its meaning, and its other names."""
    intro = (
        "Every setting. The environment variable of a setting is `TIDEGATE_` and its name in capitals.\n"
        "[operating.md](operating.md#settings) explains the files settings are read from and how to choose values.\n"
        "`tidegate settings` shows the values in use and where each came from."
    )
    return _page("# Settings", intro, *_setting_sections(), *_other_names())


def _setting_sections() -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    for name, field in Settings.model_fields.items():
        if name in SECTIONS:
            if rows:
                yield _setting_table(rows)
            rows = []
            yield f"## {SECTIONS[name]}"
        rows.append((f"`{name}`", _default(name), allowed(name), field.description or ""))
    yield _setting_table(rows)


def _setting_table(rows: Iterable[tuple[str, ...]]) -> str:
    return _table(("setting", "default", "allowed", "meaning"), rows)


def _default(name: str) -> str:
    if name in DEPENDS_ON_THE_MACHINE:
        return DEPENDS_ON_THE_MACHINE[name]
    value = shown(Settings.model_fields[name].get_default())
    if value is None:
        return "not set"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _other_names() -> Iterator[str]:
    rows = [
        (f"`{alias.name}`", f"`{name}`", alias.allowed or allowed(name))
        for name in Settings.model_fields
        for alias in variables(name)[1:]
    ]
    yield "## Other names of variables"
    yield "Names from the programs that Tidegate grew out of stay valid, with their units."
    yield _table(("variable", "setting", "allowed"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = chain([head, ("---",) * len(head)], rows)
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |" for cells in lines)


def _page(title: str, *blocks: str) -> str:
    return "\n\n".join([title, GENERATED, *blocks]) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "events.md": events_page,
    "settings.md": settings_page,
}
"""Pages of docs/ by file name, and the function that gives each page's text."""


if __name__ == "__main__":
    for file, text in PAGES.items():
        (DOCS / file).write_text(text())
        print_line(f"wrote docs/{file}")
