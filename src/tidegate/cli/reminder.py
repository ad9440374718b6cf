"""``tidegate reminder``: what to say to which groups, when, and whether it fits."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from tidegate.cli import shell
from tidegate.cli.dry_run import show_plan
from tidegate.cli.targets import targets
from tidegate.errors import BadInput, NothingToDo

if TYPE_CHECKING:
    from tidegate.app import House
    from tidegate.reminders.estimating import Foreseen
    from tidegate.reminders.reminder import Reminder

app = typer.Typer(help="Reminders: what to say to which groups, and when.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Name = Annotated[str, typer.Argument(help="The reminder's name or number.")]
File = Annotated[str, typer.Argument(metavar="FILE|-", help="TOML or JSON; - is standard input.")]


@app.command()
def add(file: File, *, json: Json = False) -> None:
    """Keep a new reminder, with the files it names, and say whether it fits into its window."""
    shell.run(_add(file, as_json=json))


async def _add(file: str, *, as_json: bool) -> None:
    from tidegate.reminders import saving
    from tidegate.reminders.files import read_files

    reminder = _read(file)
    files = await read_files(reminder, _folder(file), kept={})
    async with shell.house() as house:
        async with house.database.transaction() as connection:
            await saving.add(connection, reminder, files)
        await _tell_estimate(house, reminder.name, as_json=as_json, done=f'The reminder "{reminder.name}" is kept.')


@app.command()
def edit(
    name: Name,
    file: Annotated[str | None, typer.Argument(metavar="FILE|-", help="TOML or JSON; without it an editor.")] = None,
    *,
    json: Json = False,
) -> None:
    """Change a reminder to what a file says, or in your editor; open runs stay as they were frozen."""
    shell.run(_edit(name, file, as_json=json))


async def _edit(name: str, file: str | None, *, as_json: bool) -> None:
    from tidegate.reminders import saving
    from tidegate.reminders.files import read_files
    from tidegate.reminders.written import as_toml, checked, read_reminder
    from tidegate.store import reminders

    async with shell.house() as house:
        async with house.database.connection() as connection:
            kept = await reminders.find(connection, name)
        if file is None:
            written = click.edit(as_toml(checked(kept.written)), extension=".toml")
            if written is None:
                raise NothingToDo("The editor was left without saving, so nothing is changed.")
            reminder = read_reminder(written)
        else:
            reminder = _read(file)
        files = await read_files(reminder, _folder(file or "-"), kept=kept.files)
        async with house.database.transaction() as connection:
            kept = await reminders.find(connection, name, lock=True)
            await saving.change(connection, kept, reminder, files)
        await _tell_estimate(house, reminder.name, as_json=as_json, done=f'The reminder "{reminder.name}" is changed.')


@app.command("list")
def list_(*, json: Json = False) -> None:
    """List reminders, those that fire next first."""
    shell.run(_list(as_json=json))


async def _list(*, as_json: bool) -> None:
    from tidegate.rules.window import zone_named
    from tidegate.shapes.instants import on_clock
    from tidegate.shapes.reminders import reminder_row
    from tidegate.store import reminders

    async with shell.house() as house, house.database.connection() as connection:
        found = await reminders.listing(connection)
    rows = [asdict(reminder_row(kept)) for kept in found]
    if as_json:
        shell.print_json(rows)
        return
    fires = [on_clock(kept.due_at, zone_named(kept.written["timezone"])) for kept in found]
    shell.print_table(
        ["id", "name", "account", "goes to", "parts", "hours", "fires next"],
        (
            [row["id"], row["name"], row["account"], row["targets"], row["parts"], row["hours"], due]
            for row, due in zip(rows, fires, strict=True)
        ),
        empty="There is no reminder yet. Write one (docs/reminders.md), then: tidegate reminder add FILE",
    )


@app.command()
def show(name: Name, *, json: Json = False) -> None:
    """Print a reminder as TOML, or as JSON: either can be given to add and edit again."""
    shell.run(_show(name, as_json=json))


async def _show(name: str, *, as_json: bool) -> None:
    from tidegate.reminders.written import as_toml, checked
    from tidegate.store import reminders

    async with shell.house() as house, house.database.connection() as connection:
        kept = await reminders.find(connection, name)
    if as_json:
        shell.print_json(kept.written)
    else:
        print(as_toml(checked(kept.written)), end="")


@app.command()
def estimate(name: Name, *, json: Json = False) -> None:
    """Say whether a reminder fits into its window, when it would end, and what would be left over; spends no call."""
    shell.run(_estimate(name, as_json=json))


async def _estimate(name: str, *, as_json: bool) -> None:
    async with shell.house() as house:
        await _tell_estimate(house, name, as_json=as_json)


async def _tell_estimate(house: House, name: str, *, as_json: bool, done: str = "") -> None:
    """The estimate of a reminder that is kept; a reminder that cannot be planned yet says why."""
    from tidegate.shapes.reminders import foreseen
    from tidegate.store import reminders

    async with house.database.connection() as connection:
        kept = await reminders.find(connection, name)
        try:
            told = await foreseen(connection, kept, house.settings)
        except BadInput as problem:
            if not done:
                raise
            shell.say(f"{done} It could not be sent as it is: {problem}")
            if as_json:
                shell.print_json({"reminder": name, "fits": False, "warnings": [str(problem)]})
            return
    if as_json:
        shell.print_json(told.as_json())
        return
    if done:
        print(done)
    shell.print_table(["what", "value"], _told(told), empty="")
    for warning in told.warnings:
        shell.say(warning)


def _told(foreseen: Foreseen) -> list[tuple[str, object]]:
    """The estimate for people: numbers with their unit and their limit, times on the reminder's own clock."""
    from tidegate.shapes.instants import on_clock

    plan, told, zone = foreseen.plan, foreseen.estimate, foreseen.plan.reminder.window.zone
    fits = "yes" if told.fits else f"no: {told.short_by} of {told.sends} would be left over"
    return [
        ("goes to", f"{len(plan.targets)} groups, {len(plan.parts)} messages each"),
        ("sends", f"{told.sends}, behind {foreseen.queued} that the account has queued"),
        ("fits", fits),
        ("first send", on_clock(told.starts_at, zone)),
        ("last send", on_clock(told.finishes_at, zone)),
    ]


@app.command()
def fire(
    name: Name,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent; send nothing.")] = False,
    json: Json = False,
) -> None:
    """Fire a reminder now: its run is frozen, and whoever serves the account delivers it."""
    shell.run(show_plan(name, as_json=json) if dry_run else _fire(name, as_json=json))


async def _fire(name: str, *, as_json: bool) -> None:
    from tidegate.cli.runs import print_run
    from tidegate.reminders import controls
    from tidegate.rules.delivering import RunState
    from tidegate.store import accounts, runs, workers
    from tidegate.words import AccountState

    async with shell.house() as house:
        async with house.database.transaction() as connection:
            number = await controls.fire(connection, name)
        async with house.database.connection() as connection:
            run = await runs.find(connection, number)
            account = (await accounts.find(connection, run.account_name)).account
            served = await workers.serves(connection, run.account)
            await print_run(connection, run, as_json=as_json, targets=False)
    if run.state is RunState.ENDED:
        return
    if account.state is not AccountState.ACTIVE:
        shell.say(f"{account.stands} Its runs wait for that.")
    elif not served:
        shell.say(f'Nobody serves the account "{run.account_name}" now; it is sent once somebody does: tidegate serve')


@app.command("test")
def try_out(
    name: Name,
    target: Annotated[str, typer.Option(metavar="GROUP", help="The group to send it to: title, number or address.")],
    *,
    json: Json = False,
) -> None:
    """Send a reminder to one of its groups now, whatever the hour, and wait for what comes of it."""
    shell.run(_test(name, target, as_json=json))


async def _test(name: str, target: str, *, as_json: bool) -> None:
    from tidegate.cli.runs import print_run
    from tidegate.mirroring import ask_account
    from tidegate.reminders import controls
    from tidegate.store import accounts, runs

    async with shell.house() as house:
        async with house.database.transaction() as connection:
            number = await controls.fire(connection, name, test_on=target)
            run = await runs.find(connection, number)
            account = (await accounts.find(connection, run.account_name)).account
        await ask_account(house, account, "deliver", {"run": number})
        async with house.database.connection() as connection:
            run = await runs.find(connection, number)
            await print_run(connection, run, as_json=as_json)


@app.command()
def remove(name: Name) -> None:
    """Forget a reminder; its runs stay, and one that is open goes on."""
    shell.run(_remove(name))


async def _remove(name: str) -> None:
    from tidegate.store import reminders

    async with shell.house() as house, house.database.transaction() as connection:
        kept = await reminders.find(connection, name, lock=True)
        await reminders.remove(connection, kept)
    print(f'The reminder "{kept.name}" is forgotten.')


app.command()(targets)


def _read(file: str) -> Reminder:
    from tidegate.reminders.written import read_reminder

    if file == "-":
        return read_reminder(sys.stdin.read())
    try:
        return read_reminder(Path(file).read_text(encoding="utf-8"))
    except OSError as problem:
        raise BadInput(f"The file {file} cannot be read: {problem.strerror}.") from problem
    except UnicodeDecodeError as problem:
        raise BadInput(f"The file {file} is no text in UTF-8.") from problem


def _folder(file: str) -> Path:
    """Where the files that a reminder names are looked for: beside it."""
    return Path() if file == "-" else Path(file).parent
