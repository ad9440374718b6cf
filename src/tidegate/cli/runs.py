"""``tidegate runs``: what was fired, how far it is, and what people do to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput

if TYPE_CHECKING:
    from tidegate.store.database import Connection
    from tidegate.store.runs import Run

app = typer.Typer(help="Runs: firings of reminders, and what became of each group.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Number = Annotated[int, typer.Argument(metavar="ID", help="The run's number.")]
Chosen = Annotated[int | None, typer.Argument(metavar="ID", help="The run's number.")]


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option(help="Only those of this account.")] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The newest so many.")] = 50,
    *,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    shell.run(_list(account, limit, as_json=json))


async def _list(account: str | None, limit: int, *, as_json: bool) -> None:
    from tidegate.shapes.instants import on_clock
    from tidegate.shapes.runs import run_rows
    from tidegate.store import accounts, run_moves, runs

    async with shell.house() as house, house.database.connection() as connection:
        whose = None if account is None else (await accounts.find(connection, account)).account.id
        found = await runs.listing(connection, account=whose, limit=limit)
        rows = [asdict(row) for row in await run_rows(connection, found)]
        all_paused = await run_moves.everything_is_paused(connection)
    if all_paused:
        shell.say("Every run is paused. Go on with: tidegate runs resume --all")
    if as_json:
        shell.print_json(rows)
        return
    shell.print_table(
        ["id", "reminder", "account", "fired", "state", "delivered", "summary"],
        (
            [row["id"], row["reminder"], row["account"], on_clock(run.fired_at, run.window.zone),
             row["status"] or row["state"], f"{row['counts']['sent']} of {sum(row['counts'].values())}",
             row["error_summary"]]
            for run, row in zip(found, rows, strict=True)
        ),
        empty="Nothing was fired yet: tidegate reminder fire NAME",
    )  # fmt: skip


@app.command()
def show(number: Number, *, json: Json = False) -> None:
    """Show a run: its state, how many groups it reached, and what became of each."""
    shell.run(_show(number, as_json=json))


async def _show(number: int, *, as_json: bool) -> None:
    from tidegate.store import runs
    from tidegate.words import RunId

    async with shell.house() as house, house.database.connection() as connection:
        await print_run(connection, await runs.find(connection, RunId(number)), as_json=as_json)


async def print_run(connection: Connection, run: Run, *, as_json: bool, targets: bool = True) -> None:
    """Print one run, with all of its *targets* or as a whole."""
    from tidegate.shapes.runs import run_shown
    from tidegate.store import run_targets

    shown = await run_targets.of_run(connection, run.id) if targets else []
    document = asdict(await run_shown(connection, run, shown))
    if as_json:
        shell.print_json(document)
        return
    shell.print_table(["what", "value"], _told(run, document), empty="")
    if shown:
        print()
        shell.print_table(
            ["group", "state", "messages", "took", "why"],
            (
                [one.title, one.state.value, ", ".join(part.state.value for part in one.parts),
                 "" if one.latency_ms is None else f"{one.latency_ms} ms", one.error]
                for one in shown
            ),
            empty="",
        )  # fmt: skip


def _told(run: Run, shown: dict[str, Any]) -> list[tuple[str, object]]:
    """A run for people; times are on its reminder's own clock."""
    from tidegate.shapes.instants import on_clock

    counts = shown["counts"]
    others = ", ".join(f"{count} {name}" for name, count in counts.items() if count and name != "sent")
    delivered = f"{counts['sent']} of {sum(counts.values())} groups" + (f" ({others})" if others else "")
    lines: list[tuple[str, object]] = [
        ("run", run.id),
        ("reminder", run.name),
        ("account", run.account_name),
        ("state", shown["status"] or shown["state"].replace("_", " ")),
        ("delivered", delivered),
        ("window", " to ".join(on_clock(one, run.window.zone) for one in run.opening)),
    ]
    return [*lines, ("summary", run.error_summary)] if run.error_summary else lines


All = Annotated[bool, typer.Option("--all", help="Every run.")]


@app.command()
def pause(number: Chosen = None, *, everything: All = False) -> None:
    """Make no further send for a run, or for any; what is in flight completes."""
    shell.run(lambda: _on_one_or_all("pause", "paused", number, everything=everything))


@app.command()
def resume(number: Chosen = None, *, everything: All = False) -> None:
    """Go on with a paused run, or with all that were paused together."""
    shell.run(lambda: _on_one_or_all("resume", "resumed", number, everything=everything))


async def _on_one_or_all(verb: str, done: str, number: int | None, *, everything: bool) -> None:
    from tidegate.reminders import controls

    if everything == (number is not None):
        raise BadInput(f"Give the number of a run, or --all: tidegate runs {verb} 7")
    if number is not None:
        await _on(number, {"pause": controls.pause, "resume": controls.resume}[verb])
        print(f"Run {number} is {done}.")
        return
    async with shell.house() as house, house.database.transaction() as connection:
        changed = await {"pause": controls.pause_all, "resume": controls.resume_all}[verb](connection)
    word = "Nothing is sent any more until: tidegate runs resume --all." if verb == "pause" else ""
    print(f"{len(changed)} open runs {done}. {word}".strip())


@app.command()
def cancel(number: Number) -> None:
    """End a run: what is not sent yet is left out, what was sent stays sent."""
    shell.run(_cancel(number))


async def _cancel(number: int) -> None:
    from tidegate.reminders import controls

    await _on(number, controls.cancel)
    print(f"Run {number} is cancelled.")


@app.command()
def resolve(
    number: Number,
    as_: Annotated[str, typer.Option("--as", metavar="sent|resend|skip", help="What to take them for.")],
    target: Annotated[list[str] | None, typer.Option(metavar="GROUP", help="Only this group; may be repeated.")] = None,
) -> None:
    """Settle what nobody knows the outcome of: it was sent, it is sent again, or it is left out."""
    shell.run(_resolve(number, as_, target or []))


async def _resolve(number: int, named: str, groups: list[str]) -> None:
    from tidegate.reminders.controls import Resolution, resolve
    from tidegate.words import RunId

    if named not in list(Resolution):
        raise BadInput(f'--as is one of {", ".join(Resolution)}, and not "{named}".')
    async with shell.house() as house, house.database.transaction() as connection:
        settled = await resolve(connection, RunId(number), Resolution(named), groups=groups)
    print(f"{settled} messages of run {number} are settled.")


async def _on(number: int, control: Callable[..., Awaitable[object]]) -> None:
    from tidegate.words import RunId

    async with shell.house() as house, house.database.transaction() as connection:
        await control(connection, RunId(number))
