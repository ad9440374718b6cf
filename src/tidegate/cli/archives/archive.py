"""``tidegate archive``: archives and failures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.archives.rules.retry import FailureReason
from tidegate.cli import command_runner
from tidegate.cli.archives.archive_text import archive_lines, state_text
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput, NothingToDo
from tidegate.core.ids import ArchiveId
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted, readable_size, readable_time

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
    """List archives, newest first, and why they failed."""
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
            [row["id"], row["name"], row["title"], row["parts"], readable_size(row["size"]), row["contents"],
             state_text(row), row["flags"]]
            for row in rows
        ),
        empty=_none_found(states, named), important="name",
    )  # fmt: skip
    if len(rows) == limit:
        terminal.say(f"Showing {limit:,}; use --limit N for more.")


def _none_found(states: list[str], channel: str | None) -> str:
    """What an empty list means: nothing matches the filters, or nothing was found yet."""
    if not states and channel is None:
        return "No archives yet. Cycles find them: tidegate cycle ACCOUNT"
    which = f"{' or '.join(state.replace('_', ' ') for state in states)} archives".strip()
    return f"No {which}." if channel is None else f"No {which} in {channel}."


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
    terminal.print_values(archive_lines(shown, preview_text(kept)))
    _print_parts(shown)


def _print_parts(shown: dict[str, Any]) -> None:
    """The files an archive is made of, where it was copied to, and what is inside."""
    terminal.print_line("")
    terminal.print_table(
        ["part", "size", "message", "posted", "sha256"],
        ([one["name"], readable_size(one["size"]), one["message"], readable_time(one["at"]), one["sha256"]]
         for one in shown["files"]),
        empty="", important="part",
    )  # fmt: skip
    if shown["deliveries"]:
        terminal.print_line("")
        terminal.print_table(
            ["copied to", "file", "method", "state", "message", "sent"],
            ([one["title"], one["name"], one["way"], one["state"], one["message"], readable_time(one["sent_at"])]
             for one in shown["deliveries"]),
            empty="", important="file",
        )  # fmt: skip
    if shown["inside"]:
        terminal.print_line("")
        inside = sorted(shown["inside"], key=lambda one: natural_key(one["path"]))
        rows = ([one["path"], readable_size(one["size"]), "encrypted" if one["encrypted"] else None] for one in inside)
        terminal.print_table(["inside", "size", "protection"], rows, empty="", important="inside")


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
        terminal.say(f"{readable_size(len(content))}, {kept.mime}, written to {file}")


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
    """Retry archives in the next cycle. Failed or given-up ones, or those that wait for a destination."""
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
        terminal.say(f"The next cycle tries {counted(len(asked), 'archive')} again; now: tidegate cycle ACCOUNT")
