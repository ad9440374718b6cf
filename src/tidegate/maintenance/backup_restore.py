"""Backups: one file in PostgreSQL's custom format, restored into an empty database.

A backup may be a forged file, so nothing in it is run: the schema is made by our own steps, and only rows and counters
are taken from the file (``row_loader``). All of it is one transaction: an interrupted restore leaves the database
empty.

A restored database may lack its last sends, and it names workers that no longer run. So ``database_copies`` resets what
can no longer be trusted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import structlog

from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.files.durable_files import flush, os_errors
from tidegate.core.platform import library_schemas
from tidegate.database.embedded.dump_programs import Tell, answer, dump, output
from tidegate.database.embedded.pg_programs import CURRENT
from tidegate.database.migrations import HEAD, STEPS
from tidegate.database.migrations.upgrade import Work, is_empty, upgrade, version
from tidegate.database.pg_address import connect, place
from tidegate.database.pool import TROUBLE, Address, require_supported
from tidegate.maintenance import database_copies
from tidegate.maintenance.database_copies import DistrustedAccess
from tidegate.maintenance.dump_objects import (
    DumpObject,
    foreign_objects,
    listed_objects,
    refuse_extensions,
    tell_left_out,
)
from tidegate.maintenance.platform_library_tables import TableStatements, recognised
from tidegate.maintenance.row_loader import load

PLAIN = ("--no-owner", "--no-privileges")  # the restoring user owns it
CUSTOM = ("--format=custom",)  # never a folder or a tar, whose names could lead to other files
_NAME = "tidegate backup"
_log = structlog.get_logger(__name__)


async def back_up(address: Address, file: Path, *, force: bool, tell: Tell) -> None:
    """Write a backup to *file*, which appears only when it is complete. A device or pipe is written to directly."""
    await _refuse_no_source(address.direct)
    with _whole_or_nothing(file, force=force) as output:
        try:
            await dump(
                address, *CUSTOM, *PLAIN, "--exclude-extension=*", "--no-sync", f"--file={output}",
                tell=lambda table: tell(f"backing up {table}"),
            )  # fmt: skip
        except TidegateError as problem:
            raise TidegateError(f"The backup {file} was not written: {problem}") from problem
    await _note_backup(address.direct)


async def _note_backup(url: str) -> None:
    """Store when the last backup was made. A standby, an older schema or a server that is away cannot.

    The backup is as good.
    """
    try:
        connection = await connect(url, name=_NAME)
        try:
            await connection.execute("UPDATE house SET backed_up_at = clock_now()")
        finally:
            await connection.close()
    except (TidegateError, *TROUBLE):
        _log.info("backup.not_noted", exc_info=True)


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The *schema* that a backup had, and what was reset in the restored database."""

    schema: str
    access: DistrustedAccess


async def restore(address: Address, file: Path, *, tell: Tell) -> RestoreResult:
    """Fill the empty database at *address* from a backup and bring it to this schema."""
    at = await _schema_of(file)
    objects = listed_objects(await answer("pg_restore", *CUSTOM, "--list", str(file)))
    refuse_extensions(objects)
    libraries = await _library_tables(file, objects)
    await require_empty(address.direct)
    unknown: list[str] = []
    distrusted: list[DistrustedAccess] = []

    async def take_rows(connection: asyncpg.Connection) -> None:
        unknown.extend(await foreign_objects(connection, objects))
        async with output("pg_restore", *CUSTOM, "--data-only", "--file=-", str(file)) as text:
            await load(connection, text, libraries, tell=lambda table: tell(f"restoring {table}"))

    async def distrust(connection: asyncpg.Connection) -> None:
        distrusted.append(await database_copies.distrust(connection, because="restore"))

    await fill(address.direct, at, take_rows, then=distrust)
    tell_left_out(unknown, tell)
    return RestoreResult(at, distrusted[0])


async def fill(dsn: str, at: str, take_rows: Work, *, then: Work) -> None:
    """Make the schema of the step *at* in an empty database, take the rows, do the steps that follow, and *then*."""

    async def begin(connection: asyncpg.Connection) -> None:
        await _refuse_filled(connection, dsn)

    try:
        await upgrade(dsn, first=begin, at=(at, take_rows), then=then)
    except TROUBLE as problem:
        raise TidegateError(
            f"{place(dsn).sentence_start} did not take the rows, and is as empty as it was: {problem}."
        ) from problem


async def require_empty(dsn: str) -> None:
    """Refuse to restore over anything."""
    connection = await connect(dsn, name=_NAME)
    try:
        require_supported(int(await connection.fetchval("SHOW server_version_num")))
        await _refuse_filled(connection, dsn)
    finally:
        await connection.close()


async def _refuse_filled(connection: asyncpg.Connection, dsn: str) -> None:
    if not await is_empty(connection):
        raise BadInput(
            f"{place(dsn).sentence_start} is not empty. Restore into a new one: another database, or a new "
            "TIDEGATE_HOME without DATABASE_URL."
        )


async def _refuse_no_source(dsn: str) -> None:
    connection = await connect(dsn, name=_NAME)
    try:
        server = int(await connection.fetchval("SHOW server_version_num")) // 10_000
        if server > int(CURRENT):
            raise TidegateError(
                f"The server has PostgreSQL {server}, newer than the backup tools of this Tidegate ({CURRENT}). "
                f"Use the server's own: pg_dump --format=custom --no-owner --no-privileges"
            )
        if await version(connection) is None:
            raise TidegateError(f"{place(dsn).sentence_start} holds no Tidegate schema: there is nothing to back up.")
    finally:
        await connection.close()


async def _schema_of(file: Path) -> str:
    """The schema of a backup; refuses a file that is not a backup of ours, or is from a newer Tidegate."""
    _refuse_unreadable(file)
    try:
        said = await answer("pg_restore", *CUSTOM, "--data-only", "--table=alembic_version", "--file=-", str(file))
    except TidegateError as problem:
        raise BadInput(f"The file {file} is no backup made by tidegate db backup, or is damaged.") from problem
    _, found, data = said.partition("COPY public.alembic_version (version_num) FROM stdin;\n")
    if not found:
        raise BadInput(f"The file {file} is a backup of something else: it holds no Tidegate schema.")
    at = data.partition("\n")[0].encode("ascii", "backslashreplace").decode()
    if at not in STEPS:
        raise TidegateError(
            f"The backup {file} has schema {at}, newer than this Tidegate, which knows {HEAD}. "
            "Restore it with the Tidegate that made it, or a newer one."
        )
    return at


def _refuse_unreadable(file: Path) -> None:
    try:
        is_file = stat.S_ISREG(file.stat().st_mode)
        if is_file:  # opening a pipe would wait for a writer
            file.open("rb").close()
    except OSError as problem:
        raise BadInput(f"The backup {file} cannot be read: {problem.strerror}.") from problem
    if not is_file:
        raise BadInput(f"The backup {file} cannot be read: it is not a file.")


async def _library_tables(file: Path, objects: list[DumpObject]) -> TableStatements | None:
    """The tables that platforms' libraries made for themselves, if the backup has any."""
    schemas = [schema for schema in library_schemas() if any(one.schema == schema for one in objects)]
    if not schemas:
        return None
    only = (*(f"--schema={one}" for one in schemas), "--schema-only", *PLAIN)
    return recognised(await answer("pg_restore", *CUSTOM, *only, "--file=-", str(file)))


@contextmanager
def _whole_or_nothing(file: Path, *, force: bool) -> Iterator[Path]:
    """Where to write; what was written there takes the file's name only when all of it is on disk."""
    if file.exists() and not file.is_file():
        yield file
        return
    if file.exists() and not force:
        raise BadInput(f"The file {file} exists. Choose another name, or replace it with --force.")
    partial = file.with_name(f"{file.name}.partial")
    with os_errors(lambda why: TidegateError(f"The backup {file} cannot be written: {why}.")):
        partial.unlink(missing_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb"):
            yield partial
            os.fsync(handle)
        partial.replace(file)
        flush(file.parent)
    finally:
        partial.unlink(missing_ok=True)
