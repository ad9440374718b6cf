"""``tidegate archive``: archives and failures."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput, NothingToDo
from tidegate.rules.retrying import FailureReason

if TYPE_CHECKING:
    from tidegate.store.previews import Preview

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
    from tidegate.store import archive_list, channels

    if unknown := set(states) - set(archive_list.STATES):
        raise BadInput(f"There is no state {', '.join(sorted(unknown))}; there are {', '.join(archive_list.STATES)}.")
    async with shell.house() as house, house.database.connection() as connection:
        key = None if named is None else (await channels.find(connection, named)).key
        found = await archive_list.listing(connection, states=states, channel=key, most=limit)
    rows = [_row(one) for one in found]
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


def _row(found: dict[str, Any]) -> dict[str, Any]:
    """An archive as scripts read it."""
    names = ["id", "name", "channel", "title", "topic", "kind", "parts", "size", "state", "reason", "attempts"]
    return {
        **{name: found[name] for name in names},
        "next_try_at": _instant(found["next_try_at"]),
        "contents": found["contents"],
        "flags": found["flags"],
        "duplicate_of": found["duplicate_of"],
        "missing": found["missing"],
        "missing_files": found["missing_files"],
        "waits_for": _waits_for(found),
    }


def _waits_for(found: dict[str, Any]) -> str | None:
    """What a waiting archive waits for."""
    if found["state"] != "waiting":
        return None
    if found["indexed_at"] is not None:
        return "its turn to be hashed or delivered, after the next cycle"
    return "its turn to be read, after the next cycle"


@app.command()
def show(archive: Annotated[int, typer.Argument(metavar="ID", help="Its number.")], *, json: Json = False) -> None:
    """Show one archive: its parts, what is inside, and why it failed."""
    shell.run(_show(archive, as_json=json))


async def _show(archive: int, *, as_json: bool) -> None:
    from tidegate.store import archive_list, previews

    async with shell.house() as house, house.database.connection() as connection:
        found = await archive_list.show(connection, archive)
        kept = await previews.of_archive(connection, archive)
    parts = [{**part, "at": _instant(part["at"]), "sha256": _hex(part["sha256"])} for part in found["files_of"]]
    shown = {
        **_row(found),
        "content": _hex(found["content"]),
        "filed_at": _instant(found["filed_at"]),
        "detail": _sentence(found),
        "preview": _preview(kept) if kept.size is not None else None,
        "files": parts,
        "deliveries": [{**one, "sent_at": _instant(one["sent_at"])} for one in found["deliveries"]],
        "inside": found["inside"],
    }
    if as_json:
        shell.print_json(shown)
        return
    shown["preview"] = _told(kept)
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


def _hex(digest: bytes | None) -> str | None:
    return None if digest is None else digest.hex()


def _sentence(found: dict[str, Any]) -> str | None:
    if found["reason"] is None:
        return None
    return found["detail"] or FailureReason(found["reason"]).sentence


def _preview(kept: Preview) -> dict[str, Any]:
    return {"message": kept.message, "size": kept.size, "type": kept.mime}


def _told(kept: Preview) -> str:
    """An archive's preview picture in words."""
    if kept.size is not None:
        return f"{kept.mime}, {kept.size} bytes, from message {kept.message}"
    if kept.trouble:
        return f"none: {kept.trouble}" + (" It is tried again after the next cycle." if kept.looking else "")
    return "none yet; it is looked for after the next cycle" if kept.looking else "none was posted with it"


@app.command()
def preview(
    archive: Annotated[int, typer.Argument(metavar="ID", help="Its number.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write it; - is standard output.")],
) -> None:
    """Write the preview picture of an archive to a file, which must not exist yet."""
    shell.run(_write_preview(archive, file))


async def _write_preview(archive: int, file: str) -> None:
    from tidegate.store import archive_list, previews

    async with shell.house() as house, house.database.connection() as connection:
        await archive_list.show(connection, archive)
        kept = await previews.of_archive(connection, archive)
        content = await previews.content_of(connection, archive)
    if content is None:
        raise NothingToDo(f"Archive {archive} has no preview picture: {_told(kept).removesuffix('.')}.")
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


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
