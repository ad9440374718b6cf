"""``tidegate runs``: list, show, pause, resume, cancel and resolve runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted, readable_time

if TYPE_CHECKING:
    from tidegate.database.pool import Connection
    from tidegate.reminders.queries.runs import Run

app = typer.Typer(help="Runs: firings of reminders, and the result for each group.", no_args_is_help=True)

Number = Annotated[int, typer.Argument(metavar="ID", help="The run's number.")]
Chosen = Annotated[int | None, typer.Argument(metavar="ID", help="The run's number.")]


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option(metavar="NAME", help="Show only runs of this account.")] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of runs.")] = 50,
    *,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    command_runner.run(_list(account, limit, as_json=json))


async def _list(account: str | None, limit: int, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.reminders.queries import run_states, runs
    from tidegate.reminders.runs.documents import run_rows

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        whose = None if account is None else (await accounts.find(connection, account)).account.id
        found = await runs.listing(connection, account=whose, limit=limit)
        rows = [asdict(row) for row in await run_rows(connection, found)]
        all_paused = await run_states.everything_is_paused(connection)
    if all_paused:
        terminal.say("All sending is paused. Resume it with: tidegate runs resume --all")
    if as_json:
        terminal.print_json(rows)
        return
    terminal.print_table(
        ["id", "reminder", "account", "started", "state", "delivered", "summary"],
        (
            [row["id"], row["reminder"], row["account"], readable_time(run.fired_at, run.window.zone),
             _stands(row), f"{row['counts']['sent']} of {sum(row['counts'].values())}",
             row["error_summary"]]
            for run, row in zip(found, rows, strict=True)
        ),
        empty="No runs yet: tidegate reminder fire NAME", important="reminder",
    )  # fmt: skip


@app.command()
def show(number: Number, *, json: Json = False) -> None:
    """Show a run: its state and the result for each group."""
    command_runner.run(_show(number, as_json=json))


async def _show(number: int, *, as_json: bool) -> None:
    from tidegate.core.ids import RunId
    from tidegate.reminders.queries import runs

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        await print_run(connection, await runs.find(connection, RunId(number)), as_json=as_json)


async def print_run(connection: Connection, run: Run, *, as_json: bool, targets: bool = True) -> None:
    """Print one run, with all of its *targets* or as a whole."""
    from tidegate.reminders.queries import run_targets
    from tidegate.reminders.runs.documents import run_shown

    shown = await run_targets.of_run(connection, run.id) if targets else []
    document = asdict(await run_shown(connection, run, shown))
    if as_json:
        terminal.print_json(document)
        return
    terminal.print_values(_run_rows(run, document))
    if shown:
        terminal.print_line("")
        terminal.print_table(
            ["group", "state", "messages", "took", "reason"],
            (
                [one.title, one.state.value, ", ".join(part.state.value for part in one.parts),
                 "" if one.latency_ms is None else f"{one.latency_ms} ms",
                 one.error or (f"may have it twice: {one.maybe_twice}" if one.maybe_twice else "")]
                for one in sorted(shown, key=lambda one: natural_key(one.title))
            ),
            empty="", important="group",
        )  # fmt: skip


def _stands(shown: dict[str, Any]) -> str:
    """The state of a run in a few words."""
    if shown["behind"] is not None:
        return f"waiting behind run {shown['behind']}"
    return str(shown["status"] or shown["state"].replace("_", " "))


def _run_rows(run: Run, shown: dict[str, Any]) -> list[tuple[str, object]]:
    """A run for people; times are on its reminder's own clock."""
    counts = shown["counts"]
    others = ", ".join(f"{count} {name}" for name, count in counts.items() if count and name != "sent")
    delivered = f"{counts['sent']} of {sum(counts.values())} groups" + (f" ({others})" if others else "")
    lines: list[tuple[str, object]] = [
        ("run", run.id),
        ("reminder", run.name),
        ("account", run.account_name),
        ("state", _stands(shown)),
        ("delivered", delivered),
        ("delivery hours", " to ".join(readable_time(one, run.window.zone) for one in run.opening)),
    ]
    if run.cause:
        again = f" It is tried again {readable_time(run.held_until, run.window.zone)}." if run.held_until else ""
        lines.append(("cause", f"{run.cause}{again}"))
    return [*lines, ("summary", run.error_summary)] if run.error_summary else lines


All = Annotated[bool, typer.Option("--all", help="All runs.")]


@app.command()
def pause(number: Chosen = None, *, everything: All = False) -> None:
    """Pause one run or all runs. Sends in flight complete."""
    command_runner.run(lambda: _on_one_or_all("pause", "paused", number, everything=everything))


@app.command()
def resume(number: Chosen = None, *, everything: All = False) -> None:
    """Resume one paused run, or all that were paused together."""
    command_runner.run(lambda: _on_one_or_all("resume", "resumed", number, everything=everything))


async def _on_one_or_all(verb: str, done: str, number: int | None, *, everything: bool) -> None:
    from tidegate.reminders.runs import run_controls

    if everything == (number is not None):
        raise BadInput(f"Give the number of a run, or --all: tidegate runs {verb} 7")
    if number is not None:
        await _on(number, {"pause": run_controls.pause, "resume": run_controls.resume}[verb])
        terminal.print_line(f"Run {number} is {done}.")
        return
    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        changed = await {"pause": run_controls.pause_all, "resume": run_controls.resume_all}[verb](connection)
    word = "Nothing is sent any more until: tidegate runs resume --all." if verb == "pause" else ""
    terminal.print_line(f"{counted(len(changed), 'open run')} {done}. {word}".strip())


@app.command()
def cancel(number: Number) -> None:
    """Cancel a run. Messages not sent yet are skipped."""
    command_runner.run(_cancel(number))


async def _cancel(number: int) -> None:
    from tidegate.reminders.runs import run_controls

    await _on(number, run_controls.cancel)
    terminal.print_line(f"Run {number} is cancelled.")


@app.command()
def resolve(
    number: Number,
    as_: Annotated[
        str,
        typer.Option("--as", metavar="sent|resend|skip", help="How to treat them: as sent, to send again, or to skip."),
    ],
    target: Annotated[list[str] | None, typer.Option(metavar="GROUP", help="Only this group. May be repeated.")] = None,
) -> None:
    """Resolve messages whose delivery is not confirmed. Mark them as sent, send them again, or skip them."""
    command_runner.run(_resolve(number, as_, target or []))


async def _resolve(number: int, named: str, groups: list[str]) -> None:
    from tidegate.core.ids import RunId
    from tidegate.reminders.runs.run_controls import Resolution, resolve

    if named not in list(Resolution):
        raise BadInput(f'--as is one of {", ".join(Resolution)}, and not "{named}".')
    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        settled = await resolve(connection, RunId(number), Resolution(named), groups=groups)
    terminal.print_line(f"{counted(settled, 'message')} of run {number} resolved.")


@app.command()
def remainder(
    number: Number,
    account: Annotated[str, typer.Option(metavar="NAME", help="The account that sends to the remaining groups.")],
    *,
    json: Json = False,
) -> None:
    """Create a reminder for the groups a run did not reach. It is for another account; fire it to send."""
    command_runner.run(_remainder(number, account, as_json=json))


async def _remainder(number: int, account: str, *, as_json: bool) -> None:
    from tidegate.core.ids import RunId
    from tidegate.reminders.runs.run_remainder import make_remainder

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        made = await make_remainder(connection, RunId(number), account)
    if as_json:
        terminal.print_json(asdict(made))
        return
    goes_to = counted(made.targets, "group")
    terminal.print_line(f'The reminder "{made.name}" goes to {goes_to}. Send it: tidegate reminder fire {made.id}')
    if made.left_out:
        rows = ([one.target, one.why] for one in sorted(made.left_out, key=lambda one: natural_key(one.target)))
        terminal.print_table(["left out", "reason"], rows, empty="", important="left out")


async def _on(number: int, control: Callable[..., Awaitable[object]]) -> None:
    from tidegate.core.ids import RunId

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        await control(connection, RunId(number))
