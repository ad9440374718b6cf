"""``tidegate db``: where the database is, and looking after it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell

if TYPE_CHECKING:
    from tidegate.settings import Settings

app = typer.Typer(help="Where the database is, and looking after it.", no_args_is_help=True)

_KEY_APART = (
    "The key that opens the sign-ins in it is not part of it: keep a copy of {key}, apart from the backup, "
    "or every account has to sign in again."
)


@app.command("url")
def show_url(
    json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a line.")] = False,
) -> None:
    """Print the database's address, its password masked."""
    shell.run(lambda: _show_url(as_json=json))


@app.command("upgrade")
def bring_up_to_date() -> None:
    """Bring the database to the schema of this Tidegate, and the embedded server's data to its PostgreSQL."""
    shell.run(_bring_up_to_date)


@app.command("backup")
def write_backup(
    file: Annotated[Path, typer.Argument(help="The file to write; a device such as /dev/stdout works too.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the whole database to one file."""
    shell.run(lambda: _write_backup(file, force=force))


@app.command("restore")
def read_backup(file: Annotated[Path, typer.Argument(help="A file written by tidegate db backup.")]) -> None:
    """Fill an empty database from a backup."""
    shell.run(lambda: _read_backup(file))


@app.command("move")
def move_away(
    url: Annotated[
        str, typer.Argument(help="Where to: postgresql://USER@HOST/DATABASE, or - to read it from standard input.")
    ],
) -> None:
    """Move the embedded database to an empty database on a server of your own."""
    shell.run(lambda: _move_away(url))


@app.command("rekey")
def change_key() -> None:
    """Seal every secret anew under a new key."""
    shell.run(_change_key)


async def _show_url(*, as_json: bool) -> None:
    from tidegate.store.embedded import address_in
    from tidegate.store.reaching import place

    known = shell.settings()
    embedded = known.database_url is None
    address = address_in(known.home) if known.database_url is None else known.database_url.get_secret_value()
    url = place(address).masked_url
    if as_json:
        shell.print_json({"url": url, "embedded": embedded})
    else:
        print(url)
    if embedded:
        shell.say("This is the embedded database; it answers while a Tidegate process runs.")


async def _bring_up_to_date() -> None:
    from tidegate.app import open_address
    from tidegate.store.data_upgrade import upgrade_data
    from tidegate.store.schema import HEAD
    from tidegate.store.upgrade import upgrade

    known = shell.settings()
    if known.database_url is None:
        data = await asyncio.to_thread(upgrade_data, known.home, tell=_tell)
        if data:
            shell.say(
                f"The data is now PostgreSQL {data.new}. The {data.old} data stays in {data.kept}; "
                "remove that folder once you are content."
            )
    async with open_address(known) as address:
        before = await upgrade(address.direct)
    done = f"is at schema {HEAD} already" if before == HEAD else f"went from schema {before or 'none'} to {HEAD}"
    shell.say(f"The database {done}.")


async def _write_backup(file: Path, *, force: bool) -> None:
    from tidegate.app import open_address
    from tidegate.store.backup import back_up

    known = shell.settings()
    async with open_address(known) as address:
        await back_up(address, file, force=force, tell=_tell)
    shell.say(f"The backup {file} is whole. {_KEY_APART.format(key=_key_source(known))}")


async def _read_backup(file: Path) -> None:
    from tidegate.app import open_address
    from tidegate.store.backup import restore

    known = shell.settings()
    async with open_address(known) as address:
        await restore(address, file, tell=_tell)
    shell.say(
        f"The database holds the backup {file} now. Its sign-ins open with the key of the database it came from: "
        f"put that into {_key_source(known)}. Messages sent after the backup are not in it."
    )


async def _move_away(url: str) -> None:
    from tidegate.errors import BadInput
    from tidegate.store.embedded import Seat
    from tidegate.store.moving import move
    from tidegate.store.reaching import place

    known = shell.settings()
    target = (await asyncio.to_thread(sys.stdin.readline)).strip() if url == "-" else url
    place(target)  # refuses a malformed address before anything is started
    if known.database_url is not None:
        raise BadInput(
            "DATABASE_URL is set, so the embedded database is not in use. Unset it to move the embedded one."
        )
    seat = await asyncio.to_thread(Seat, known.home)
    try:
        marker = await move(seat, target, tell=_tell)
    finally:
        await asyncio.to_thread(seat.leave)
    shell.say(
        f"The database is on your server now. Set DATABASE_URL to {place(target).masked_url} (with its password) for "
        f"every Tidegate process. The copy in {known.home} is left as it was and no longer opened, as {marker} says; "
        f"keep {_key_source(known)}."
    )


async def _change_key() -> None:
    from tidegate.errors import NothingToDo
    from tidegate.store import keys
    from tidegate.store.secrets import open_ring, refuse_others, reseal

    async with shell.house() as house:
        await refuse_others(house.database)
        ring = await open_ring(house.database, house.settings.home, _written_key(house.settings))
        if house.settings.key is None:
            ring = keys.add_key(keys.key_file(house.settings.home))
        count = await reseal(house.database, ring)
    if house.settings.key is not None and count == 0:
        raise NothingToDo(
            "Every secret is under the first key of TIDEGATE_KEY. Put a new key before it, then run this again."
        )
    shell.say(
        f'{count} secrets are sealed with the key "{ring.ids[0]}" now. Copy {ring.source} to every machine that runs '
        "Tidegate. The older keys in it are needed for backups made before now; remove their lines when those are gone."
    )


def _written_key(known: Settings) -> str | None:
    return known.key.get_secret_value() if known.key else None


def _key_source(known: Settings) -> str:
    return "TIDEGATE_KEY" if known.key else str(known.home / "secret.key")


def _tell(line: str) -> None:
    shell.say(f"{line} …")
