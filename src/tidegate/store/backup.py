"""Backups: one file in PostgreSQL's custom format, restored into an empty database.

A restored database may not know its last sends and speaks of workers that are not there, so what must not be believed
any more is reset. The row that names the schema's version is written together with that, last of all: a restore that
was cut short leaves a database that Tidegate refuses.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from tidegate.errors import BadInput, TidegateError
from tidegate.store import pace, reminders, run_moves
from tidegate.store.database import Address, require_supported
from tidegate.store.folder import sync
from tidegate.store.programs import CURRENT
from tidegate.store.reaching import connect, place
from tidegate.store.schema import HEAD
from tidegate.store.tools import Tell, answer, pour, work
from tidegate.store.upgrade import is_empty, upgrade, version

PLAIN = ("--no-owner", "--no-privileges")  # whoever restores owns it
_NAME = "tidegate backup"


async def back_up(address: Address, file: Path, *, force: bool, tell: Tell) -> None:
    """Write a backup to *file*, which appears only when it is whole. A device or pipe is written to as it is."""
    await _refuse_no_source(address.direct)
    with _whole_or_nothing(file, force=force) as output:
        try:
            await work(
                "pg_dump", place(address.direct), "--format=custom", *PLAIN, "--no-sync", f"--file={output}",
                tell=lambda table: tell(f"backing up {table}"),
            )  # fmt: skip
        except TidegateError as problem:
            raise TidegateError(f"The backup {file} was not written: {problem}") from problem


async def restore(address: Address, file: Path, *, tell: Tell) -> str:
    """Fill the empty database at *address* from a backup and bring it to this schema; returns the backup's schema."""
    at = await _schema_of(file)
    where = place(address.direct)
    await require_empty(address.direct)
    with tempfile.NamedTemporaryFile("w", prefix="tidegate-", suffix=".list") as contents:
        contents.write(_without_version(await answer("pg_restore", "--list", str(file))))
        contents.flush()
        await pour(
            "pg_restore", *PLAIN, "--file=-", f"--use-list={contents.name}", str(file),
            source=None, into=where, tell=lambda table: tell(f"restoring {table}"),
        )  # fmt: skip
    await finish_restore(address.direct, at)
    return at


async def finish_restore(dsn: str, at: str) -> None:
    """Declare the restored database whole: its schema's version, the steps it lacks, and the resets, or nothing."""

    async def declare(connection: asyncpg.Connection) -> None:
        await connection.execute("INSERT INTO alembic_version (version_num) VALUES ($1)", at)

    await upgrade(dsn, first=declare, then=_reset)


async def require_empty(dsn: str) -> None:
    """Refuse to restore over anything."""
    connection = await connect(dsn, name=_NAME)
    try:
        require_supported(int(await connection.fetchval("SHOW server_version_num")))
        if not await is_empty(connection):
            raise BadInput(
                f"{place(dsn).sentence_start} is not empty. Restore into a new one: another database, or a new "
                "TIDEGATE_HOME without DATABASE_URL."
            )
    finally:
        await connection.close()


async def _reset(connection: asyncpg.Connection) -> None:
    # Transaction numbers of another server mean nothing here: what was recorded comes before everything new.
    await connection.execute("UPDATE events SET tx = '0'")
    await connection.execute("UPDATE accounts SET owner = NULL, epoch = epoch + 1")
    await connection.execute("DELETE FROM workers")
    await pace.empty_all(connection)
    await run_moves.pause_open(connection, by="restore")
    await reminders.doubt_due(connection)


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
    """The schema a backup holds; refuses what is no backup of ours, and a backup from a newer Tidegate."""
    try:
        file.open("rb").close()
    except OSError as problem:
        raise BadInput(f"The backup {file} cannot be read: {problem.strerror}.") from problem
    try:
        said = await answer("pg_restore", "--data-only", "--table=alembic_version", "--file=-", str(file))
    except TidegateError as problem:
        raise BadInput(f"The file {file} is no backup made by tidegate db backup, or is damaged.") from problem
    _, found, data = said.partition("COPY public.alembic_version (version_num) FROM stdin;\n")
    if not found:
        raise BadInput(f"The file {file} is a backup of something else: it holds no Tidegate schema.")
    at = data.partition("\n")[0]
    if at > HEAD:
        raise TidegateError(
            f"The backup {file} has schema {at}, newer than this Tidegate, which knows {HEAD}. "
            "Restore it with the Tidegate that made it, or a newer one."
        )
    return at


def _without_version(contents: str) -> str:
    return "".join(
        line for line in contents.splitlines(keepends=True) if "TABLE DATA public alembic_version" not in line
    )


@contextmanager
def _whole_or_nothing(file: Path, *, force: bool) -> Iterator[Path]:
    """Where to write; what was written there takes the file's name only when all of it is on disk."""
    if file.exists() and not file.is_file():
        yield file
        return
    if file.exists() and not force:
        raise BadInput(f"The file {file} exists. Choose another name, or replace it with --force.")
    partial = file.with_name(f"{file.name}.partial")
    with _writable(file):
        partial.unlink(missing_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb"):
            yield partial
            os.fsync(handle)
        partial.replace(file)
        sync(file.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _writable(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise TidegateError(f"The backup {file} cannot be written: {problem.strerror}.") from problem
