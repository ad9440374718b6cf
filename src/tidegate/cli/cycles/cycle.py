"""``tidegate cycle``: one pass over an account's channels, now."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import AccountName, Json
from tidegate.core import terminal


def cycle(
    account: AccountName,
    channel: Annotated[
        str | None, typer.Option(metavar="CHANNEL", help="Scan only this channel, even if it would be skipped.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Run one cycle now.

    The worker that serves the account runs it. If none does, this command runs it.
    """
    command_runner.run(_cycle(account, channel, as_json=json))


async def _cycle(name: str, channel: str | None, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_commands import ask_account
    from tidegate.channels.queries import channels

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
            number = str((await channels.find(connection, channel)).number) if channel else None
        report = await ask_account(runtime, account, "cycle", {"channel": number})
    if as_json:
        terminal.print_json(report)
    else:
        terminal.print_values(_report_rows(report))


def _report_rows(report: dict[str, Any]) -> list[tuple[str, object]]:
    """The report for people: numbers with their unit, without the zeros."""
    calls = ", ".join(f"{count} {method}" for method, count in report["calls"].items())
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in report["verdicts"].items())
    lines: list[tuple[str, object]] = [
        ("cycle", report["cycle"]),
        ("calls", f"{report['calls_total']} ({calls})" if calls else 0),
        ("calls for what is inside archives", sum(report["indexing_calls"].values())),
        ("calls to connect", report["connect_calls"]),
        ("channels asked about", report["gated"]),
        ("verdicts", verdicts or "none: enable a channel with: tidegate channel enable"),
        ("new messages", report["messages"]),
        ("archives found", report["archives_found"]),
        ("failures tried again", report["failures_retried"]),
        ("took", f"{report['seconds']:.1f} s"),
    ]
    waits = [("waits", f"{one['channel'] or 'the gate'}, {one['seconds']} s more") for one in report["parked"]]
    return [*lines, *waits, *(("trouble", trouble) for trouble in report["troubles"])]
