"""``tidegate db``: address, upgrade, backup, restore, move and keys of the database."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.rules.readable_values import counted

if TYPE_CHECKING:
    from tidegate.app.settings import Settings
    from tidegate.maintenance.database_copies import DistrustedAccess

app = typer.Typer(help="The database: upgrade, backup, restore, move, keys.", no_args_is_help=True)

_KEY_APART = (
    "The key that opens the sign-ins in it is not part of it: keep a copy of {key}, apart from the backup, "
    "or every account has to sign in again."
)


@app.command("url")
def show_url(json: Json = False) -> None:
    """Print the database's address with the password masked."""
    command_runner.run(lambda: _show_url(as_json=json))


@app.command("upgrade")
def bring_up_to_date() -> None:
    """Upgrade the database schema. The embedded server's data too, to its PostgreSQL version."""
    command_runner.run(_bring_up_to_date)


@app.command("backup")
def write_backup(
    file: Annotated[Path, typer.Argument(help="The file to write. A device such as /dev/stdout also works.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the whole database to one file."""
    command_runner.run(lambda: _write_backup(file, force=force))


@app.command("restore")
def read_backup(
    file: Annotated[Path, typer.Argument(help="A file written by tidegate db backup.")],
    json: Json = False,
) -> None:
    """Fill an empty database from a backup. Tokens then need confirmation, and browsers must sign in again."""
    command_runner.run(lambda: _read_backup(file, as_json=json))


@app.command("mark-restored")
def mark_restored(json: Json = False) -> None:
    """Treat the database as just restored. After a recovery with other tools, or a failover that lost data."""
    command_runner.run(lambda: _mark_restored(as_json=json))


@app.command("move")
def move_away(
    url: Annotated[
        str, typer.Argument(help="The target, postgresql://USER@HOST/DATABASE, or - to read it from standard input.")
    ],
) -> None:
    """Move the embedded database to a server of your own."""
    command_runner.run(lambda: _move_away(url))


@app.command("rekey")
def change_key() -> None:
    """Encrypt every secret again with a new key."""
    command_runner.run(_change_key)


async def _show_url(*, as_json: bool) -> None:
    from tidegate.database.embedded.server import address_in
    from tidegate.database.pg_address import place

    known = command_runner.settings()
    embedded = known.database_url is None
    address = address_in(known.home) if known.database_url is None else known.database_url.get_secret_value()
    url = place(address).masked_url
    if as_json:
        terminal.print_json({"url": url, "embedded": embedded})
    else:
        terminal.print_line(url)
    if embedded:
        terminal.say("This is the embedded database; it answers while a Tidegate process runs.")


async def _bring_up_to_date() -> None:
    from tidegate.app.composition import open_address
    from tidegate.database.embedded.data_upgrade import upgrade_data
    from tidegate.database.migrations import HEAD
    from tidegate.database.migrations.upgrade import upgrade
    from tidegate.maintenance.database_copies import note_place

    known = command_runner.settings()
    data = None
    if known.database_url is None:
        data = await asyncio.to_thread(upgrade_data, known.home, tell=_tell)
        if data:
            terminal.say(
                f"The data is now PostgreSQL {data.new}. The {data.old} data stays in {data.kept}; "
                "remove that folder once you are content."
            )
    async with open_address(known) as address:
        # pg_upgrade makes a new server of the old one's data: it is no copy.
        before = await upgrade(address.direct, then=note_place if data else None)
    done = f"is at schema {HEAD} already" if before == HEAD else f"went from schema {before or 'none'} to {HEAD}"
    terminal.say(f"The database {done}.")


async def _write_backup(file: Path, *, force: bool) -> None:
    from tidegate.app.composition import open_address
    from tidegate.maintenance.backup_restore import back_up

    terminal.refuse_terminal(file)
    known = command_runner.settings()
    async with open_address(known) as address:
        await back_up(address, file, force=force, tell=_tell)
    terminal.say(f"The backup {file} is complete. {_KEY_APART.format(key=_key_source(known))}")


async def _read_backup(file: Path, *, as_json: bool) -> None:
    from tidegate.app.composition import open_address
    from tidegate.maintenance.backup_restore import restore

    known = command_runner.settings()
    async with open_address(known) as address:
        done = await restore(address, file, tell=_tell)
    _print_distrusted(done.access, as_json=as_json)
    terminal.say(
        f"The database holds the backup {file} now. Its sign-ins open with the key of the database it came from: "
        f"put that into {_key_source(known)}. Messages sent after the backup are not in it."
    )


async def _mark_restored(*, as_json: bool) -> None:
    from tidegate.accounts.queries.secrets import refuse_others
    from tidegate.maintenance.database_copies import distrust

    async with command_runner.runtime() as runtime:
        await refuse_others(runtime.database)
        async with runtime.database.transaction() as connection:
            found = await distrust(connection, because="restore")
    _print_distrusted(found, as_json=as_json)
    terminal.say("Open runs are paused, and the pace of every account starts from zero.")


def _print_distrusted(found: DistrustedAccess, *, as_json: bool) -> None:
    """Print what was revoked: access of the backup may have been withdrawn since it was made."""
    if as_json:
        terminal.print_json(asdict(found))
        return
    terminal.print_line(
        f"Every browser has to sign in again: {counted(found.sessions, 'session')} and "
        f"{counted(found.links, 'sign-in link')} are gone."
    )
    if found.tokens:
        names = ", ".join(f'"{name}"' for name in found.tokens)
        terminal.print_line(
            f"Tokens that open nothing until you confirm them: {names}. Run: tidegate token confirm NAME (or --all)"
        )
    if found.has_password:
        terminal.print_line(
            "The password of the pages is the one of the backup. If it was changed since, set a new one in Settings."
        )


async def _move_away(url: str) -> None:
    from tidegate.core.errors import BadInput
    from tidegate.database.embedded.server import ServerLease
    from tidegate.database.pg_address import place
    from tidegate.maintenance.database_move import move

    known = command_runner.settings()
    target = (await asyncio.to_thread(sys.stdin.readline)).strip() if url == "-" else url
    place(target)  # refuses a malformed address before anything is started
    if known.database_url is not None:
        raise BadInput(
            "DATABASE_URL is set, so the embedded database is not in use. Unset it to move the embedded one."
        )
    lease = await asyncio.to_thread(ServerLease, known.home)
    try:
        marker = await move(lease, target, tell=_tell)
    finally:
        await asyncio.to_thread(lease.leave)
    terminal.say(
        f"The database is on your server now. Set DATABASE_URL to {place(target).masked_url} (with its password) for "
        f"every Tidegate process. The copy in {known.home} is left as it was and no longer opened, as {marker} says; "
        f"keep {_key_source(known)}."
    )


async def _change_key() -> None:
    from tidegate.accounts import key_ring
    from tidegate.accounts.queries.secrets import open_ring, refuse_others, reseal
    from tidegate.core.errors import NothingToDo

    async with command_runner.runtime() as runtime:
        await refuse_others(runtime.database)
        ring = await open_ring(runtime.database, runtime.settings.home, _written_key(runtime.settings))
        if runtime.settings.key is None:
            ring = key_ring.add_key(key_ring.key_file(runtime.settings.home))
        count = await reseal(runtime.database, ring)
    if runtime.settings.key is not None and count == 0:
        raise NothingToDo(
            "Every secret is under the first key of TIDEGATE_KEY. Put a new key before it, then run this again."
        )
    terminal.say(
        f'{counted(count, "secret")} encrypted with the key "{ring.ids[0]}" now. Copy {ring.source} to every '
        "machine that runs Tidegate. The older keys in it are needed for older backups; remove their lines when those "
        "are gone."
    )


def _written_key(known: Settings) -> str | None:
    return known.key.get_secret_value() if known.key else None


def _key_source(known: Settings) -> str:
    return "TIDEGATE_KEY" if known.key else str(known.home / "secret.key")


def _tell(line: str) -> None:
    terminal.say(f"{line} …")
