"""``tidegate backfill`` and ``tidegate reconcile``: load and compare histories, with progress bars."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import command_runner
from tidegate.cli.history.backfill_progress import progress
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput, NothingToDo, TidegateError
from tidegate.core.ids import ChannelKey
from tidegate.core.rules.natural_order import natural_key

if TYPE_CHECKING:
    from tidegate.app.composition import Runtime
    from tidegate.core.account import Account
    from tidegate.database.pool import Connection

Channels = Annotated[
    list[str] | None,
    typer.Argument(metavar="CHANNEL", help="Titles or numbers. The default is all channels mirrored in full."),
]

EVERYTHING = "all"
_SPAN = re.compile(r"(\d+(\.\d+)?[a-z]+)+", re.IGNORECASE | re.ASCII)


def backfill(
    channel: Channels = None,
    target: Annotated[
        str | None, typer.Option(metavar="N|all", help="How many messages deep; all means down to the first.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE|SPAN", help="How far back: a date such as 2026-01-31, or a duration such as 7d."),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Load older messages now, down to the wanted depth.

    The workers that serve the accounts do it. If none does, this command does it.
    """
    command_runner.run(lambda: _backfill(channel or [], _depth(target, since), as_json=json))


async def _backfill(names: list[str], depth: dict[str, Any], *, as_json: bool) -> None:
    result = await _ask_readers("backfill", names, depth)
    if as_json:
        terminal.print_json(result)
    else:
        columns = ["title", "fetched", "stored", "calls", "reached_start", "gaps", "waits_for", "error"]
        rows = [{**one, "gaps": len(one["gaps"])} for one in result["channels"]]
        _print_rows(columns, rows, empty="Every history has the wanted depth.")
    _end(result)


def reconcile(
    channel: Channels = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Maximum number of messages. The default is the setting message_sync_limit."
        ),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Apply edits and deletions of the newest stored messages.

    Compares them with the platform.
    The workers that serve the accounts do it. If none does, this command does it.
    """
    command_runner.run(_reconcile(channel or [], limit, as_json=json))


async def _reconcile(names: list[str], limit: int | None, *, as_json: bool) -> None:
    result = await _ask_readers("reconcile", names, {"limit": limit})
    if as_json:
        terminal.print_json(result)
    else:
        columns = ["title", "checked", "edited", "deleted", "added", "calls", "waits_for", "error"]
        _print_rows(columns, result["channels"], empty="")
    _end(result)


def _depth(target: str | None, since: str | None) -> dict[str, Any]:
    """The options as a command for the worker; ``BadInput`` for an invalid one."""
    everything = target == EVERYTHING
    if target is not None and not everything and not (target.isascii() and target.isdigit() and int(target)):
        raise BadInput(f'--target is a whole number of 1 or more, or "{EVERYTHING}", and not "{target}".')
    bound = None if since is None else _oldest(since).isoformat()
    number = None if target is None or everything else int(target)
    return {"target": number, "since": bound, "everything": everything}


def _oldest(since: str) -> datetime:
    """The instant that a day, an instant or a span such as ``7d`` means. A bare number is refused: it has no unit."""
    from tidegate.core.durations import parse_span

    try:
        if _SPAN.fullmatch(since):
            return SystemClock().now() - parse_span(since)
        return datetime.fromisoformat(since).astimezone()
    except (ValueError, OverflowError):
        raise BadInput(f'--since is a date such as 2026-01-31 or a duration such as 7d, and not "{since}".') from None


async def _ask_readers(kind: str, names: list[str], args: dict[str, Any]) -> dict[str, Any]:
    """Send the command to each account in turn, and combine the results."""
    from tidegate.app.account_commands import ask_account

    result: dict[str, Any] = {"channels": [], "succeeded": 0, "failed": 0, "closed": []}
    async with command_runner.runtime() as runtime:
        readers = await _readers(runtime, names)
        async with progress(runtime):
            for account, keys in readers:
                answer = await ask_account(runtime, account, kind, {**args, "channels": keys})
                result = {name: result[name] + answer[name] for name in result}
    return result


async def _readers(runtime: Runtime, names: list[str]) -> list[tuple[Account, list[ChannelKey] | None]]:
    """The accounts that read these channels, with the channel keys; without names, all channels mirrored in full."""
    from tidegate.accounts.queries import accounts
    from tidegate.channels.queries import channels
    from tidegate.history.queries import channel_histories

    async with runtime.database.connection() as connection:
        named = {await _key(connection, name) for name in names}
        by_reader = await channel_histories.by_reader(connection, only=named or None)
        known = {one.account.id: one.account for one in await accounts.listing(connection)}
        seen = await channels.any_known(connection)
    if not by_reader and not seen:
        raise NothingToDo("No channels are known yet; list what an account sees with: tidegate channel sync ACCOUNT")
    if not by_reader:
        raise NothingToDo("No channel is mirrored in full. Choose one: tidegate channel enable CHANNEL --full")
    return [(known[reader], keys if names else None) for reader, keys in by_reader.items()]


async def _key(connection: Connection, name: str) -> ChannelKey:
    from tidegate.app.operator_requests import require_history
    from tidegate.channels.queries import channels

    kept = await channels.find(connection, name)
    require_history(kept)
    return kept.key


def _print_rows(columns: list[str], rows: list[dict[str, Any]], *, empty: str) -> None:
    in_order = sorted(rows, key=lambda row: natural_key(row["title"]))
    terminal.print_rows(columns, in_order, empty=empty, important="title")


def _end(result: dict[str, Any]) -> None:
    """Say what waits and what was left out, and end with a sentence about what failed, which is also the exit code."""
    waiting = {one["title"]: one["waits_for"] for one in result["channels"] if one["waits_for"] is not None}
    if waiting:
        named = ", ".join(f'"{title}" {seconds} s' for title, seconds in waiting.items())
        terminal.say(f"Rate limited by the platform; a running worker continues them later: {named}.")
    if result["closed"]:
        named = ", ".join(f'"{one["title"]}"' for one in result["closed"])
        terminal.say(
            f"Skipped, because the account may not read their history; grant it Read Message History: {named}."
        )
    failed = [f"{one['title']}: {one['error']}" for one in result["channels"] if one["error"] is not None]
    if failed:
        raise TidegateError(f"{result['failed']} of {len(result['channels'])} channels failed. {' '.join(failed)}")
