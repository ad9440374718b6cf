"""``tidegate doctor``: is Tidegate set up well, and is a platform as Tidegate assumes?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.error_messages import explain
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import TidegateError
from tidegate.core.rules.readable_values import counted

if TYPE_CHECKING:
    from tidegate.app.composition import Runtime
    from tidegate.app.doctor.check import Check


def doctor(
    live: Annotated[
        str | None,
        typer.Option(metavar="ACCOUNT", help="Also compare this account's platform with what Tidegate assumes."),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Check the set-up: settings, database, key, disk, clock, ports.

    With --live it makes a few harmless read calls through the account, and never sends. Exits with 1 on a failure.
    """
    command_runner.run(_doctor(live, as_json=json))


async def _doctor(live: str | None, *, as_json: bool) -> None:
    from tidegate.app.doctor.check import document
    from tidegate.app.doctor.machine_checks import machine_checks

    loaded = command_runner.loaded()
    checks = [*machine_checks(loaded), *await _with_database(live)]
    found = document(checks, live)
    if as_json:
        terminal.print_json(asdict(found))
    else:
        _print(checks, live)
    if not found.ok:
        raise typer.Exit(1)


async def _with_database(live: str | None) -> list[Check]:
    """The checks that need the database; that it cannot be opened is one of them."""
    import asyncpg

    from tidegate.app.doctor.check import failure
    from tidegate.app.doctor.database_checks import database_checks
    from tidegate.core.clock import SystemClock

    try:
        async with command_runner.runtime() as runtime:
            found = await database_checks(runtime, SystemClock())
            return [*found, *(await _live(runtime, live) if live is not None else ())]
    except (TidegateError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:
        return [failure("database", explain(problem).sentence, "docs/operating.md")]


async def _live(runtime: Runtime, name: str) -> list[Check]:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_commands import ask_account
    from tidegate.app.doctor.check import Check, CheckStatus, failure
    from tidegate.app.doctor.platform_checks import PROBE

    try:
        async with runtime.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        answers = await ask_account(runtime, account, PROBE, {})
    except TidegateError as problem:
        return [failure("live", str(problem))]
    return [Check(**{**one, "status": CheckStatus(one["status"])}) for one in answers]


def _print(checks: list[Check], live: str | None) -> None:
    from tidegate.app.doctor.check import CheckStatus

    for one in checks:
        more = f" See {one.docs}" if one.docs and one.status is not CheckStatus.OK else ""
        terminal.print_line(f"{one.status.value:<4}  {one.name}: {one.sentence}{more}")
    failed = sum(one.status is CheckStatus.FAIL for one in checks)
    warned = sum(one.status is CheckStatus.WARN for one in checks)
    terminal.print_line("")
    terminal.print_line(
        f"{len(checks) - failed - warned} ok, {counted(warned, 'warning')}, {counted(failed, 'failure')}."
    )
    if live is not None and failed:
        terminal.say("If a platform differs, please report the lines above: they hold no secret and no message.")
