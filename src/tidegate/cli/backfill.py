"""``tidegate backfill`` and ``tidegate reconcile``: histories, now, with a progress bar."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import shell
from tidegate.cli.history_progress import progress
from tidegate.errors import BadInput, NothingToDo, TidegateError

if TYPE_CHECKING:
    from tidegate.app import House
    from tidegate.store.database import Connection
    from tidegate.words import Account

Channels = Annotated[
    list[str] | None, typer.Argument(metavar="CHANNEL", help="Titles or numbers; without any, all mirrored in full.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

EVERYTHING = "all"


def backfill(
    channel: Channels = None,
    target: Annotated[
        str | None, typer.Option(metavar="N|all", help="How many messages deep; all goes down to the first.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Not further back than this day or instant, as 2026-01-31.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Read histories now, until they are as deep as wanted.

    By the workers that serve the accounts, else by this command itself.
    """
    shell.run(lambda: _backfill(channel or [], _depth(target, since), as_json=json))


async def _backfill(names: list[str], depth: dict[str, Any], *, as_json: bool) -> None:
    told = await _ask_readers("backfill", names, depth)
    if as_json:
        shell.print_json(told)
    else:
        columns = ["title", "fetched", "stored", "calls", "reached_start", "gaps", "error"]
        shell.print_table(columns, ([_cell(one[column]) for column in columns] for one in told["channels"]),
                          empty="Every history is as deep as wanted.")  # fmt: skip
    _end(told)


def reconcile(
    channel: Channels = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The newest so many; the setting message_sync_limit if not.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Compare the newest stored messages with the platform: apply edits, mark deletions.

    By the workers that serve the accounts, else by this command itself.
    """
    shell.run(_reconcile(channel or [], limit, as_json=json))


async def _reconcile(names: list[str], limit: int | None, *, as_json: bool) -> None:
    told = await _ask_readers("reconcile", names, {"limit": limit})
    if as_json:
        shell.print_json(told)
    else:
        columns = ["title", "checked", "edited", "deleted", "added", "calls", "error"]
        shell.print_table(columns, ([one[column] for column in columns] for one in told["channels"]), empty="")
    _end(told)


def _depth(target: str | None, since: str | None) -> dict[str, Any]:
    """The options as a worker takes them, or a sentence about the one that cannot be."""
    everything = target == EVERYTHING
    if target is not None and not everything and not (target.isascii() and target.isdigit() and int(target)):
        raise BadInput(f'--target is a whole number of 1 or more, or "{EVERYTHING}", and not "{target}".')
    try:
        bound = None if since is None else datetime.fromisoformat(since).astimezone().isoformat()
    except ValueError:
        raise BadInput(f'--since is a day or an instant such as 2026-01-31, and not "{since}".') from None
    number = None if target is None or everything else int(target)
    return {"target": number, "since": bound, "everything": everything}


async def _ask_readers(kind: str, names: list[str], args: dict[str, Any]) -> dict[str, Any]:
    """Have each account do its part, one after the other, and put their answers together."""
    from tidegate.mirroring import ask_account

    told: dict[str, Any] = {"channels": [], "succeeded": 0, "failed": 0}
    async with shell.house() as house:
        readers = await _readers(house, names)
        async with progress(house):
            for account, keys in readers:
                answer = await ask_account(house, account, kind, {**args, "channels": keys})
                told = {name: told[name] + answer[name] for name in told}
    return told


async def _readers(house: House, names: list[str]) -> list[tuple[Account, list[int] | None]]:
    """The accounts that read these channels, with our keys of each; of all channels mirrored in full, without names."""
    from tidegate.store import accounts, histories

    async with house.database.connection() as connection:
        named = {await _key(connection, name) for name in names}
        by_reader = await histories.by_reader(connection, only=named or None)
        known = {one.account.id: one.account for one in await accounts.listing(connection)}
    if not by_reader:
        raise NothingToDo("No channel is mirrored in full. Choose one: tidegate channel enable CHANNEL --full")
    return [(known[reader], keys if names else None) for reader, keys in by_reader.items()]


async def _key(connection: Connection, name: str) -> int:
    from tidegate.steering import require_history
    from tidegate.store import channels

    kept = await channels.find(connection, name)
    require_history(kept)
    return kept.key


def _cell(value: object) -> object:
    return len(value) if isinstance(value, list) else value


def _end(told: dict[str, Any]) -> None:
    """End with a sentence about what failed, which is also the exit code."""
    failed = [f"{one['title']}: {one['error']}" for one in told["channels"] if one["error"] is not None]
    if failed:
        raise TidegateError(f"{told['failed']} of {len(told['channels'])} channels failed. {' '.join(failed)}")
