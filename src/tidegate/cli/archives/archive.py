"""``tidegate archive``: archives and failures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.archives.rules.retry import FailureReason
from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput, NothingToDo
from tidegate.core.ids import ArchiveId

app = typer.Typer(help="Archives: what was found, what they contain, and what failed.", no_args_is_help=True)


@app.command("list")
def list_(
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Show only archives in this state. May be repeated.")
    ] = None,
    channel: Annotated[
        str | None, typer.Option(metavar="CHANNEL", help="Show only archives of this channel (title or number).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of archives.")] = 200,
    *,
    json: Json = False,
) -> None:
    """List archives, newest first: their state, and for failures the reason and the next attempt."""
    command_runner.run(_list(state or [], channel, limit, as_json=json))


async def _list(states: list[str], named: str | None, limit: int, *, as_json: bool) -> None:
    from tidegate.archives.documents import archive_row
    from tidegate.archives.queries import archive_list
    from tidegate.archives.queries.archive_search import STATES, ArchiveFilter
    from tidegate.channels.queries import channels

    if unknown := set(states) - set(STATES):
        raise BadInput(f"There is no state {', '.join(sorted(unknown))}; there are {', '.join(STATES)}.")
    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        keys = None if named is None else [(await channels.find(connection, named)).key]
        found = await archive_list.listing(connection, ArchiveFilter(states, keys), most=limit)
    rows = [asdict(archive_row(one)) for one in found]
    if as_json:
        terminal.print_json(rows)
        return
    terminal.print_table(
        ["id", "name", "channel", "parts", "size", "files inside", "state", "flags"],
        (
            [row["id"], row["name"], row["title"], row["parts"], row["size"], row["contents"], _state(row), flags]
            for row in rows
            for flags in [", ".join(row["flags"])]
        ),
        empty=_none_found(states, named),
    )


def _none_found(states: list[str], channel: str | None) -> str:
    """What an empty list means: nothing matches the filters, or nothing was found yet."""
    if not states and channel is None:
        return "No archives yet. Cycles find them: tidegate cycle ACCOUNT"
    which = f"{' or '.join(states)} archives".strip()
    return f"No {which}." if channel is None else f"No {which} in {channel}."


def _state(row: dict[str, Any]) -> str:
    """An archive's state and why, and of a failure how often it was tried and when it is tried again."""
    if row["reason"] is None:
        return str(row["state"])
    if row["state"] == "waiting":
        return f"waiting: {row['reason']}"
    tries = f"{row['attempts']} {'try' if row['attempts'] == 1 else 'tries'}"
    again = f", next {row['next_try_at'][:16].replace('T', ' ')} UTC" if row["next_try_at"] else ""
    return f"{row['state']}: {row['reason']}, {tries}{again}"


@app.command()
def show(
    archive: Annotated[int, typer.Argument(metavar="ID", help="The archive's number.")], *, json: Json = False
) -> None:
    """Show one archive: its parts, its contents, and why it failed."""
    command_runner.run(_show(ArchiveId(archive), as_json=json))


async def _show(archive: ArchiveId, *, as_json: bool) -> None:
    from tidegate.archives.documents import archive_shown, preview_text
    from tidegate.archives.queries import previews

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        shown = asdict(await archive_shown(connection, archive))
        kept = await previews.of_archive(connection, archive)
    if as_json:
        terminal.print_json(shown)
        return
    shown["preview"] = preview_text(kept)
    inside = shown.pop("inside")
    files, posted = shown.pop("files"), shown.pop("deliveries")
    terminal.print_values(shown.items())
    terminal.print_rows(["name", "size", "message", "sha256"], files)
    if posted:
        terminal.print_rows(["title", "name", "way", "state", "message", "sent_at"], posted)
    empty = "Nothing is known of what is inside."
    terminal.print_table(["inside", "size"], ([one["path"], one["size"]] for one in inside), empty=empty)


@app.command()
def preview(
    archive: Annotated[int, typer.Argument(metavar="ID", help="The archive's number.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")],
) -> None:
    """Write an archive's preview picture to a file. The file must not exist yet."""
    command_runner.run(_write_preview(ArchiveId(archive), file))


async def _write_preview(archive: ArchiveId, file: str) -> None:
    from tidegate.archives.documents import preview_text
    from tidegate.archives.queries import archive_list, previews

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        await archive_list.show(connection, archive)
        kept = await previews.of_archive(connection, archive)
        content = await previews.content_of(connection, archive)
    if content is None:
        raise NothingToDo(f"Archive {archive} has no preview picture: {preview_text(kept).removesuffix('.')}.")
    if file == "-":
        terminal.print_bytes(content)
    else:
        _write_new(file, content)
        terminal.say(f"{len(content)} bytes, {kept.mime}, written to {file}")


def _write_new(file: str, content: bytes) -> None:
    try:
        with Path(file).open("xb") as opened:
            opened.write(content)
    except FileExistsError:
        raise BadInput(f"{file} exists already; name another file.") from None
    except OSError as problem:
        raise BadInput(f"{file} cannot be written: {problem.strerror}.") from problem


@app.command()
def retry(
    archive: Annotated[int | None, typer.Argument(metavar="[ID]", help="The number of the failed archive.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Retry all failed archives.")] = False,
    reason: Annotated[
        FailureReason | None, typer.Option(help="With --all: only archives that failed for this reason.")
    ] = None,
    json: Json = False,
) -> None:
    """Retry archives in the next cycle: failed ones, given-up ones, or those that wait for a destination."""
    command_runner.run(
        _retry(None if archive is None else ArchiveId(archive), reason, everything=everything, as_json=json)
    )


async def _retry(archive: ArchiveId | None, reason: FailureReason | None, *, everything: bool, as_json: bool) -> None:
    from tidegate.archives.queries import archive_list

    if (archive is None) is not everything or (reason is not None and not everything):
        raise BadInput("Name one archive by its number, or give --all, to which --reason may be added.")
    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        known = None if archive is None else await archive_list.show(connection, archive)
        asked = await archive_list.ask_again(connection, None if archive is None else [archive], reason)
    if not asked:
        why = f"Archive {archive} has not failed: it is {known['state']}." if known else "No such archive has failed."
        raise NothingToDo(why)
    if as_json:
        terminal.print_json({"asked": asked})
    else:
        terminal.say(f"{len(asked)} tried again in the next cycle; now: tidegate cycle ACCOUNT")
