"""``tidegate cycle``: one pass over an account's channels, now."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli import shell

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def cycle(
    account: Annotated[str, typer.Argument(help="The account's name.")],
    channel: Annotated[
        str | None, typer.Option(metavar="CHANNEL", help="Scan that channel only, whatever its memory says.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Make one cycle now.

    By the worker that serves the account, else by this command itself.
    """
    shell.run(_cycle(account, channel, as_json=json))


async def _cycle(name: str, channel: str | None, *, as_json: bool) -> None:
    from tidegate.mirroring import ask_account
    from tidegate.store import accounts, channels

    async with shell.house() as house:
        async with house.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
            number = str((await channels.find(connection, channel)).number) if channel else None
        report = await ask_account(house, account, "cycle", {"channel": number})
    if as_json:
        shell.print_json(report)
    else:
        shell.print_table(["what", "value"], _told(report), empty="")


def _told(report: dict[str, Any]) -> list[tuple[str, object]]:
    """The report for people: numbers with their unit, and nothing that is zero for want of work."""
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
        ("seconds", report["seconds"]),
    ]
    return [*lines, *(("trouble", trouble) for trouble in report["troubles"])]
