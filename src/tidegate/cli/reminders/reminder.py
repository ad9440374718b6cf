"""``tidegate reminder``: create, edit, estimate, fire and test reminders."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.cli.reminders.dry_run import show_plan
from tidegate.cli.reminders.target_lists import targets
from tidegate.core import terminal
from tidegate.core.errors import BadInput, NothingToDo
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted, readable_time

if TYPE_CHECKING:
    from tidegate.app.composition import Runtime
    from tidegate.reminders.queries.reminders import KeptReminder
    from tidegate.reminders.queries.runs import Run
    from tidegate.reminders.reminder_estimate import ReminderEstimate

app = typer.Typer(help="Reminders: which messages go to which groups, and when.", no_args_is_help=True)

_NEVER = datetime.max.replace(tzinfo=UTC)
Name = Annotated[str, typer.Argument(help="The reminder's name or number.")]
File = Annotated[str, typer.Argument(metavar="FILE|-", help="TOML or JSON; - is standard input.")]


@app.command()
def add(file: File, *, json: Json = False) -> None:
    """Create a reminder with the files it names. Shows whether it fits into its delivery hours."""
    command_runner.run(_add(file, as_json=json))


async def _add(file: str, *, as_json: bool) -> None:
    from tidegate.reminders import reminder_changes
    from tidegate.reminders.reminder_files import read_files
    from tidegate.reminders.reminder_parser import read_reminder

    reminder = read_reminder(_text_of(file))
    files = await read_files(reminder, _folder(file))
    async with command_runner.runtime() as runtime:
        async with runtime.database.transaction() as connection:
            kept = await reminder_changes.add(connection, reminder, files)
        await _print_estimate(runtime, kept, as_json=as_json, done=f'The reminder "{kept.name}" is saved.')


@app.command()
def edit(
    name: Name,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE|-", help="TOML or JSON. The default opens an editor.")
    ] = None,
    *,
    read_again: Annotated[
        list[str] | None,
        typer.Option(metavar="MEDIA", help="Read this file of the reminder from the folder again. May be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Change a reminder from a file or in your editor. Open runs keep their frozen content.

    New file names are read from the folder of FILE, or from the working folder. A file that the reminder already has
    keeps its content, unless --read-again names it.
    """
    command_runner.run(_edit(name, file, read_again or [], as_json=json))


async def _edit(name: str, file: str | None, read_again: list[str], *, as_json: bool) -> None:
    from tidegate.cli.reminders.text_editor import edited_text
    from tidegate.reminders import reminder_changes
    from tidegate.reminders.queries import reminders
    from tidegate.reminders.reminder_files import media_names, read_files
    from tidegate.reminders.reminder_parser import as_toml, read_reminder

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            kept = await reminders.find(connection, name)
        before = kept.reminder
        if file is None:
            written = edited_text(as_toml(before), extension=".toml")
            if written is None:
                raise NothingToDo("The editor was closed without saving; nothing was changed.")
        else:
            written = _text_of(file)
        reminder = read_reminder(written)
        stored = {*media_names(before), *kept.files} - set(read_again)
        files = await read_files(reminder, _folder(file or "-"), stored=stored)
        _say_not_read(media_names(reminder), stored, _folder(file or "-"))
        async with runtime.database.transaction() as connection:
            kept = await reminders.find(connection, name, lock=True)
            kept = await reminder_changes.change(connection, kept, reminder, files)
        await _print_estimate(runtime, kept, as_json=as_json, done=f'The reminder "{kept.name}" is changed.')


@app.command("list")
def list_(*, json: Json = False) -> None:
    """List reminders, ordered by their next run."""
    command_runner.run(_list(as_json=json))


async def _list(*, as_json: bool) -> None:
    from tidegate.core.rules.wall_clock import zone_named
    from tidegate.reminders.documents import reminder_row
    from tidegate.reminders.queries import reminders

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        listed = await reminders.listing(connection)
    found = sorted(listed, key=lambda kept: (kept.due_at or _NEVER, natural_key(kept.name)))
    rows = [asdict(reminder_row(kept)) for kept in found]
    if as_json:
        terminal.print_json(rows)
        return
    fires = [readable_time(kept.due_at, zone_named(kept.written["timezone"])) for kept in found]
    terminal.print_table(
        ["id", "name", "account", "goes to", "messages", "delivery hours", "next send"],
        (
            [row["id"], row["name"], row["account"], row["targets"], row["parts"], row["hours"], due]
            for row, due in zip(rows, fires, strict=True)
        ),
        empty="No reminders yet. Write one (docs/reminders.md), then: tidegate reminder add FILE",
        important="name",
    )


@app.command()
def show(name: Name, *, json: Json = False) -> None:
    """Print a reminder as TOML or JSON. Both can be passed to add and edit."""
    command_runner.run(_show(name, as_json=json))


async def _show(name: str, *, as_json: bool) -> None:
    from tidegate.reminders.queries import reminders
    from tidegate.reminders.reminder_parser import as_toml

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        kept = await reminders.find(connection, name)
    if as_json:
        terminal.print_json(kept.written)
    else:
        terminal.print_document(as_toml(kept.reminder))


@app.command()
def estimate(name: Name, *, json: Json = False) -> None:
    """Show whether a reminder fits into its delivery hours. When it ends, and what would be left. Makes no call."""
    command_runner.run(_estimate(name, as_json=json))


async def _estimate(name: str, *, as_json: bool) -> None:
    from tidegate.reminders.queries import reminders

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            kept = await reminders.find(connection, name)
        await _print_estimate(runtime, kept, as_json=as_json)


async def _print_estimate(runtime: Runtime, kept: KeptReminder, *, as_json: bool, done: str = "") -> None:
    """The estimate of a stored reminder; for one that cannot be planned yet, the reason."""
    from tidegate.app.composition import allowance_of
    from tidegate.reminders.documents import estimate_shown
    from tidegate.reminders.reminder_estimate import estimate_reminder

    async with runtime.database.connection() as connection:
        try:
            result = await estimate_reminder(connection, kept, partial(allowance_of, runtime.settings))
        except BadInput as problem:
            if not done:
                raise
            terminal.say(f"{done} It could not be sent as it is: {problem}")
            if as_json:
                terminal.print_json({"reminder": kept.name, "fits": False, "warnings": [str(problem)]})
            return
    if as_json:
        terminal.print_json(asdict(estimate_shown(result)))
        return
    if done:
        terminal.print_line(done)
    terminal.print_values(_estimate_rows(result))
    for warning in result.warnings:
        terminal.say(warning)


def _estimate_rows(foreseen: ReminderEstimate) -> list[tuple[str, object]]:
    """The estimate for people: numbers with their unit and their limit, times on the reminder's own clock."""
    plan, result, zone = foreseen.plan, foreseen.estimate, foreseen.plan.reminder.window.zone
    fits = "yes" if result.fits else f"no: {result.short_by} of {result.sends} would be left over"
    return [
        ("groups", len(plan.targets)),
        ("messages per group", len(plan.parts)),
        ("sends", f"{result.sends}, behind {foreseen.queued} that the account has queued"),
        ("fits", fits),
        ("first send", readable_time(result.starts_at, zone)),
        ("last send", readable_time(result.finishes_at, zone)),
    ]


@app.command()
def fire(
    name: Name,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent, without sending.")] = False,
    next_window: Annotated[
        bool, typer.Option("--next-window", help="Outside the delivery hours: wait for the next ones.")
    ] = False,
    json: Json = False,
) -> None:
    """Fire a reminder now. Its content is frozen, and the account's worker delivers it."""
    command_runner.run(show_plan(name, as_json=json) if dry_run else _fire(name, next_window=next_window, as_json=json))


async def _fire(name: str, *, next_window: bool, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.cli.reminders.runs import print_run
    from tidegate.core.account import AccountState
    from tidegate.reminders.queries import reminders, runs
    from tidegate.reminders.rules.run_summary import RunState
    from tidegate.reminders.runs import run_controls
    from tidegate.workers.queries import workers

    async with command_runner.runtime() as runtime:
        async with runtime.database.transaction() as connection:
            kept = await reminders.find(connection, name, lock=True)
            number = await run_controls.fire(connection, kept, next_window=next_window)
        async with runtime.database.connection() as connection:
            run = await runs.find(connection, number)
            account = (await accounts.find(connection, run.account_name)).account
            served = await workers.serves(connection, run.account)
            await print_run(connection, run, as_json=as_json, targets=False)
    if run.state is RunState.ENDED:
        if run.now >= run.opening.closes:
            terminal.say(_too_late(run))
        return
    if account.state is not AccountState.ACTIVE:
        terminal.say(f"{account.stands} Its runs wait for that.")
    elif not served:
        terminal.say(f'No worker serves the account "{run.account_name}" now; it is sent once one does: tidegate serve')


def _too_late(run: Run) -> str:
    zone, opens = run.window.zone, run.window.next(run.now).opens
    return (
        f"Nothing was sent: the delivery hours ended {readable_time(run.opening.closes, zone)}. "
        f'Send it when they next begin, {readable_time(opens, zone)}: tidegate reminder fire "{run.name}" --next-window'
    )


@app.command("test")
def try_out(
    name: Name,
    target: Annotated[
        str | None, typer.Option(metavar="GROUP", help="The group to send to (title, number or address).")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="me", help="me: the account's own chat, which no group sees.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Send a test to one of its groups or to yourself. At any hour; waits for the result."""
    if (target is None) == (to is None):
        raise typer.BadParameter("say where to send it: --target GROUP for one of its groups, or --to me")
    if to not in (None, "me"):
        raise typer.BadParameter('--to takes "me" only; one of its groups is named with --target GROUP')
    command_runner.run(_test_privately(name, as_json=json) if target is None else _test(name, target, as_json=json))


async def _test_privately(name: str, *, as_json: bool) -> None:
    from tidegate.app.account_commands import ask_account
    from tidegate.reminders.private_test import TEST_PRIVATELY, require_own_chat
    from tidegate.reminders.queries import reminders

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            kept = await reminders.find(connection, name)
            account = await require_own_chat(connection, kept)
        done = await ask_account(runtime, account, TEST_PRIVATELY, {"reminder": kept.id})
    if as_json:
        terminal.print_json(done)
        return
    terminal.print_line(
        f'{counted(done["sent"], "message")} in the own chat of "{done["account"]}", as "{done["as"]}" would get them.'
    )


async def _test(name: str, target: str, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_commands import ask_account
    from tidegate.cli.reminders.runs import print_run
    from tidegate.reminders.queries import reminders, runs
    from tidegate.reminders.runs import run_controls

    async with command_runner.runtime() as runtime:
        async with runtime.database.transaction() as connection:
            kept = await reminders.find(connection, name, lock=True)
            number = await run_controls.fire(connection, kept, test_on=target)
            run = await runs.find(connection, number)
            account = (await accounts.find(connection, run.account_name)).account
        await ask_account(runtime, account, "deliver", {"run": number})
        async with runtime.database.connection() as connection:
            run = await runs.find(connection, number)
            await print_run(connection, run, as_json=as_json)


@app.command()
def remove(name: Name) -> None:
    """Delete a reminder. Its runs stay, and an open run continues."""
    command_runner.run(_remove(name))


async def _remove(name: str) -> None:
    from tidegate.reminders.queries import reminders

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        kept = await reminders.find(connection, name, lock=True)
        await reminders.remove(connection, kept)
    terminal.print_line(f'The reminder "{kept.name}" is deleted.')


@app.command()
def enable(name: Name) -> None:
    """Turn a reminder on again: its schedule counts from now on."""
    command_runner.run(_set_enabled(name, on=True))


@app.command()
def disable(name: Name) -> None:
    """Turn a reminder off. Its schedule sends nothing; open runs continue."""
    command_runner.run(_set_enabled(name, on=False))


async def _set_enabled(name: str, *, on: bool) -> None:
    from tidegate.reminders import reminder_changes
    from tidegate.reminders.queries import reminders

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        kept = await reminders.find(connection, name, lock=True)
        due_at = await reminder_changes.set_enabled(connection, kept, on=on)
    following = f"; next send {readable_time(due_at, kept.reminder.window.zone)}" if due_at else ""
    terminal.print_line(f'The reminder "{kept.name}" is {"on" if on else "off"}{following}.')


app.command()(targets)


def _text_of(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as problem:
        raise BadInput(f"The file {file} cannot be read: {problem.strerror}.") from problem
    except UnicodeDecodeError as problem:
        raise BadInput(f"The file {file} is not valid UTF-8.") from problem


def _say_not_read(names: list[str], stored: set[str], folder: Path) -> None:
    """Name the files of the folder that were not read, because the reminder already has one of that name."""
    for name in names:
        if name in stored and PurePath(name).name == name and (folder / name).is_file():
            terminal.say(f'"{name}" stays as stored with the reminder. Read it from the disk: --read-again "{name}"')


def _folder(file: str) -> Path:
    """The folder of a reminder's files: that of its document, or the working folder for standard input."""
    return Path() if file == "-" else Path(file).parent
