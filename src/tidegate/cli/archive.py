"""``tidegate archive``: archives and failures."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput, NothingToDo
from tidegate.rules.retrying import FailureReason

app = typer.Typer(help="Archives: what was found, what is inside, and what failed.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command("list")
def list_(
    state: Annotated[list[str] | None, typer.Option(help="Only those in this state; may be given often.")] = None,
    channel: Annotated[str | None, typer.Option(help="Only those of this channel: its title or number.")] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The newest so many.")] = 200,
    *,
    json: Json = False,
) -> None:
    """List archives, newest first: their state, and of those that failed why and when they are tried again."""
    shell.run(_list(state or [], channel, limit, as_json=json))


async def _list(states: list[str], named: str | None, limit: int, *, as_json: bool) -> None:
    from tidegate.shapes.archives import archive_row
    from tidegate.store import archive_list, channels
    from tidegate.store.archive_search import STATES, Sought

    if unknown := set(states) - set(STATES):
        raise BadInput(f"There is no state {', '.join(sorted(unknown))}; there are {', '.join(STATES)}.")
    async with shell.house() as house, house.database.connection() as connection:
        keys = None if named is None else [(await channels.find(connection, named)).key]
        found = await archive_list.listing(connection, Sought(states, keys), most=limit)
    rows = [asdict(archive_row(one)) for one in found]
    if as_json:
        shell.print_json(rows)
        return
    shell.print_table(
        ["id", "name", "channel", "parts", "size", "files inside", "state", "flags"],
        (
            [row["id"], row["name"], row["title"], row["parts"], row["size"], row["contents"], _state(row), flags]
            for row in rows
            for flags in [", ".join(row["flags"])]
        ),
        empty="There is no such archive. Cycles find them: tidegate cycle ACCOUNT",
    )


def _state(row: dict[str, Any]) -> str:
    """An archive's state, and of a failure why, how often it was tried and when it is tried again."""
    if row["reason"] is None:
        return str(row["state"])
    tries = f"{row['attempts']} {'try' if row['attempts'] == 1 else 'tries'}"
    again = f", next {row['next_try_at'][:16].replace('T', ' ')} UTC" if row["next_try_at"] else ""
    return f"{row['state']}: {row['reason']}, {tries}{again}"


@app.command()
def show(archive: Annotated[int, typer.Argument(metavar="ID", help="Its number.")], *, json: Json = False) -> None:
    """Show one archive: its parts, what is inside, and why it failed."""
    shell.run(_show(archive, as_json=json))


async def _show(archive: int, *, as_json: bool) -> None:
    from tidegate.shapes.archives import archive_shown, told_preview
    from tidegate.store import previews

    async with shell.house() as house, house.database.connection() as connection:
        shown = asdict(await archive_shown(connection, archive))
        kept = await previews.of_archive(connection, archive)
    if as_json:
        shell.print_json(shown)
        return
    shown["preview"] = told_preview(kept)
    inside = shown.pop("inside")
    files, posted = shown.pop("files"), shown.pop("deliveries")
    shell.print_table(["what", "value"], ((key.replace("_", " "), value) for key, value in shown.items()), empty="")
    _print_rows(["name", "size", "message", "sha256"], files)
    if posted:
        _print_rows(["title", "name", "way", "state", "message", "sent_at"], posted)
    empty = "Nothing is known of what is inside."
    shell.print_table(["inside", "size"], ([one["path"], one["size"]] for one in inside), empty=empty)


def _print_rows(columns: list[str], rows: list[dict[str, Any]]) -> None:
    names = [column.replace("_", " ") for column in columns]
    shell.print_table(names, ([row[column] for column in columns] for row in rows), empty="")


@app.command()
def preview(
    archive: Annotated[int, typer.Argument(metavar="ID", help="Its number.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write it; - is standard output.")],
) -> None:
    """Write the preview picture of an archive to a file, which must not exist yet."""
    shell.run(_write_preview(archive, file))


async def _write_preview(archive: int, file: str) -> None:
    from tidegate.shapes.archives import told_preview
    from tidegate.store import archive_list, previews

    async with shell.house() as house, house.database.connection() as connection:
        await archive_list.show(connection, archive)
        kept = await previews.of_archive(connection, archive)
        content = await previews.content_of(connection, archive)
    if content is None:
        raise NothingToDo(f"Archive {archive} has no preview picture: {told_preview(kept).removesuffix('.')}.")
    if file == "-":
        sys.stdout.buffer.write(content)
    else:
        _write_new(file, content)
        shell.say(f"{len(content)} bytes, {kept.mime}, written to {file}")


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
    archive: Annotated[int | None, typer.Argument(metavar="[ID]", help="The number of a failed archive.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All that failed.")] = False,
    reason: Annotated[FailureReason | None, typer.Option(help="With --all: only those that failed for this.")] = None,
    json: Json = False,
) -> None:
    """Have failed archives tried again in the very next cycle, also those that were given up."""
    shell.run(_retry(archive, reason, everything=everything, as_json=json))


async def _retry(archive: int | None, reason: FailureReason | None, *, everything: bool, as_json: bool) -> None:
    from tidegate.store import archive_list

    if (archive is None) is not everything or (reason is not None and not everything):
        raise BadInput("Name one archive by its number, or give --all, to which --reason may be added.")
    async with shell.house() as house, house.database.transaction() as connection:
        known = None if archive is None else await archive_list.show(connection, archive)
        asked = await archive_list.ask_again(connection, None if archive is None else [archive], reason)
    if not asked:
        why = f"Archive {archive} has not failed: it is {known['state']}." if known else "No such archive has failed."
        raise NothingToDo(why)
    if as_json:
        shell.print_json({"asked": asked})
    else:
        shell.say(f"{len(asked)} tried again in the next cycle; now: tidegate cycle ACCOUNT")
