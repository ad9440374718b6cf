"""Bringing the embedded server's data to a newer PostgreSQL, with PostgreSQL's own ``pg_upgrade``.

The old data is only read. It stays beside the new under its version's number until the operator removes it.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from tidegate.errors import TidegateError
from tidegate.store.embedded import Server
from tidegate.store.folder import ROLE, Folder, sync
from tidegate.store.programs import CURRENT
from tidegate.store.tools import Tell


@dataclass(frozen=True, slots=True)
class Upgraded:
    """Which PostgreSQL the data went from and to, and where the old data lies."""

    old: str
    new: str
    kept: Path


def upgrade_data(home: Path, *, tell: Tell) -> Upgraded | None:
    """Upgrade the data in *home* when it is of an older PostgreSQL; None when there is nothing to do. Blocks."""
    if not (home / "postgresql").exists():
        return None
    folder = Folder(home)
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
        return Upgraded(found, CURRENT, folder.kept(found))


def _stop_cleanly(folder: Folder, version: str) -> None:
    """pg_upgrade takes only data whose server was stopped in order, which a crash or a power cut did not do."""
    old = Server(folder, version=version)
    old.ensure_running()
    old.stop()


def _upgrade(folder: Folder, version: str) -> None:
    old, new = folder.programs(version), folder.programs()
    workshop = folder.fresh()  # pg_upgrade leaves a script where it runs
    runner = replace(folder.runner, folder=workshop)
    checksums = "--data-checksums" if _has_checksums(folder, old) else "--no-data-checksums"
    runner.ask(
        new / "initdb", "-D", "data", "-U", ROLE, "--auth=trust", "--encoding=UTF8", "--locale=C", checksums
    )  # fmt: skip
    sockets = Path(tempfile.mkdtemp(prefix="tidegate-"))  # a short path of plain characters, ours alone
    try:
        runner.give(sockets)
        runner.ask(
            new / "pg_upgrade", "--old-bindir", old, "--new-bindir", new, "--old-datadir", "../postgresql",
            "--new-datadir", "data", "--username", ROLE, "--socketdir", sockets,
        )  # fmt: skip
    finally:
        shutil.rmtree(sockets)
    (workshop / "data").rename(folder.upgraded)
    sync(folder.home)
    folder.put_upgraded_in_place()
    folder.sweep()


def _has_checksums(folder: Folder, programs: Path) -> bool:
    control = folder.runner.ask(programs / "pg_controldata", "-D", "postgresql")
    return next(line for line in control.splitlines() if "checksum version" in line).split()[-1] != "0"
