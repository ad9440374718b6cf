"""Bringing the embedded server's data to a newer PostgreSQL, with PostgreSQL's own ``pg_upgrade``.

The old data is only read, once its roles are those of this release (``access``). It stays beside the new under its
version's number until the operator removes it.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from tidegate.core.errors import TidegateError
from tidegate.core.files.durable_files import flush
from tidegate.database.embedded.data_folder import DataFolder
from tidegate.database.embedded.dump_programs import Tell
from tidegate.database.embedded.pg_programs import CURRENT
from tidegate.database.embedded.server import Server
from tidegate.database.embedded.server_access import ADMIN, ServerAccess


@dataclass(frozen=True, slots=True)
class DataUpgrade:
    """From and to which PostgreSQL version the data was upgraded, and where the old data is."""

    old: str
    new: str
    kept: Path


def upgrade_data(home: Path, *, tell: Tell) -> DataUpgrade | None:
    """Upgrade the data in *home* when it is of an older PostgreSQL; None when there is nothing to do. Blocks."""
    if not (home / "postgresql").exists():
        return None
    folder = DataFolder(home)
    with folder.locked(), folder.users() as users:
        found = folder.data_version()
        if found is None or found == CURRENT:
            return None
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TidegateError(f"Other Tidegate processes use the database in {home}; stop them first.") from None
        tell(f"upgrading the data from PostgreSQL {found} to {CURRENT}")
        _stop_cleanly(folder, found)
        _upgrade(folder, found)
        return DataUpgrade(found, CURRENT, folder.kept(found))


def _stop_cleanly(folder: DataFolder, version: str) -> None:
    """Shut the data down cleanly, as pg_upgrade requires; after a crash or a power cut it is not."""
    old = Server(folder, version=version)
    if old.needs_conversion():
        old.convert()
    old.ensure_running()
    old.stop()


def _upgrade(folder: DataFolder, version: str) -> None:
    old, new = folder.programs(version), folder.programs()
    workshop = folder.fresh()  # pg_upgrade leaves a script where it runs
    runner = replace(folder.runner, folder=workshop)
    checksums = "--data-checksums" if _has_checksums(folder, old) else "--no-data-checksums"
    runner.ask(
        new / "initdb", "-D", "data", "-U", ADMIN, "--auth=reject", "--encoding=UTF8", "--locale=C", checksums
    )  # fmt: skip
    ServerAccess(runner, workshop / "data", folder.socket, new).write(done=True)
    sockets = Path(tempfile.mkdtemp(prefix="tidegate-"))  # a short path of plain characters, ours alone
    try:
        runner.give(sockets)
        runner.ask(
            new / "pg_upgrade", "--old-bindir", old, "--new-bindir", new, "--old-datadir", "../postgresql",
            "--new-datadir", "data", "--username", ADMIN, "--socketdir", sockets,
        )  # fmt: skip
    finally:
        shutil.rmtree(sockets)
    (workshop / "data").rename(folder.upgraded)
    flush(folder.home)
    folder.put_upgraded_in_place()
    folder.sweep()


def _has_checksums(folder: DataFolder, programs: Path) -> bool:
    control = folder.runner.ask(programs / "pg_controldata", "-D", "postgresql")
    return next(line for line in control.splitlines() if "checksum version" in line).split()[-1] != "0"
