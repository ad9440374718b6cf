"""Who may connect to the embedded server, and as which role.

``peer`` asks the operating system which user is at the other end of the socket. A map says which roles that user may
take. All work is done as a plain role that owns the database and nothing else, by the user that runs Tidegate. The
superuser makes the roles and upgrades the data. Only the user that runs the server may take that role, which is another
user when Tidegate runs as root.

Servers of earlier releases trusted every user who reached the socket, and the superuser did all work. ``convert``
upgrades their data. It can be killed and repeated at any point: roles change in one transaction, and the first line of
``pg_hba.conf`` says only at the end that all is done.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate.core.errors import TidegateError
from tidegate.database.embedded.pg_programs import ProgramRunner

ROLE = DATABASE = "tidegate"
ADMIN = "tidegate_admin"
_HELPER = "tidegate_conversion"

_DONE = "# Written by Tidegate whenever it differs: peer and plain role, 1\n"
_UNFINISHED = "# Written by Tidegate, which is converting this data\n"
_RULES = f"""\
local all {ADMIN} peer map=server
local all {_HELPER} peer map=server
local all {ROLE} peer map=tidegate
local all "/^tidegate_whatsapp_[0-9]+$" peer map=tidegate
"""
_WRITE = 'umask 077 && cat >"$1.new" && mv -f -- "$1.new" "$1"'

_RENAME = f"""
ALTER ROLE {ROLE} RENAME TO {ADMIN};
CREATE ROLE {ROLE};
"""

_OWN = f"""
SET search_path = pg_catalog;
DO $$
DECLARE
    whatsapp text := (SELECT 'tidegate_whatsapp_' || oid FROM pg_database WHERE datname = current_database());
    statement text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = whatsapp) THEN
        EXECUTE format('CREATE ROLE %I', whatsapp);
    END IF;
    EXECUTE format('ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', whatsapp);
    EXECUTE format('ALTER ROLE %I SET search_path = whatsapp', whatsapp);
    EXECUTE format('GRANT %I TO {ROLE}', whatsapp);
    ALTER ROLE {ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
    GRANT pg_read_all_stats TO {ROLE};
    ALTER DATABASE {DATABASE} OWNER TO {ROLE};
    FOR statement IN
        SELECT format('ALTER SCHEMA %I OWNER TO {ROLE}', nspname)
        FROM pg_namespace
        WHERE nspowner = 10 AND oid >= 16384 AND nspname !~ '^pg_'
        UNION ALL
        SELECT format('ALTER TABLE %s OWNER TO {ROLE}', c.oid::regclass)
        FROM pg_class c
        WHERE relowner = 10 AND oid >= 16384 AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
          AND relnamespace::regnamespace::text !~ '^pg_'
          AND NOT EXISTS (
              SELECT FROM pg_depend d
              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'e', 'i'))
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO {ROLE}', p.oid::regprocedure)
        FROM pg_proc p
        WHERE proowner = 10 AND oid >= 16384 AND NOT EXISTS (
              SELECT FROM pg_depend d
              WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype IN ('e', 'i'))
        UNION ALL
        SELECT format('ALTER TYPE %s OWNER TO {ROLE}', t.oid::regtype)
        FROM pg_type t
        WHERE typowner = 10 AND oid >= 16384 AND typtype IN ('b', 'd', 'e', 'r') AND typrelid = 0 AND NOT EXISTS (
              SELECT FROM pg_depend d
              WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype IN ('e', 'i'))
        UNION ALL
        SELECT format('ALTER STATISTICS %I.%I OWNER TO {ROLE}', nspname, stxname)
        FROM pg_statistic_ext JOIN pg_namespace n ON n.oid = stxnamespace
        WHERE stxowner = 10
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$;
"""
"""Run by the superuser inside the database: makes what is missing and gives the plain role what is in it.

Number 10 is always the superuser that made the data. What PostgreSQL itself brings has numbers below 16384.
"""


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """Who may use the data in *data*, a folder inside the one where *runner* runs programs."""

    runner: ProgramRunner
    data: Path
    socket: Path
    programs: Path

    def __post_init__(self) -> None:
        self._map()  # refuses a user without a name before anything is made

    def is_current(self) -> bool:
        """Whether the data was made or converted by this release, for the users of today."""
        try:
            written = [(self.data / name).read_text(errors="replace") for name in ("pg_hba.conf", "pg_ident.conf")]
        except OSError:
            return False
        return written == [_DONE + _RULES, self._map()]

    def write(self, *, done: bool) -> None:
        """Write who may connect; with *done*, also that nothing is left to convert."""
        self._write("pg_ident.conf", self._map())
        self._write("pg_hba.conf", (_DONE if done else _UNFINISHED) + _RULES)

    def make(self) -> None:
        """Make roles and database on a server that has none yet. The one it brings, 7 MB, is for nobody."""
        as_admin = ("-h", self.socket, "-U", ADMIN)
        self._run(ADMIN, "template1", f"CREATE ROLE {ROLE};")
        self.runner.ask(self.programs / "createdb", *as_admin, "-O", ROLE, DATABASE)
        self.runner.ask(self.programs / "dropdb", *as_admin, "postgres")
        self._run(ADMIN, DATABASE, _OWN)

    def convert(self) -> None:
        """Make the superuser of an earlier release a plain role, on a server that no other process uses."""
        if not self._lets_in(ADMIN):
            if not self._lets_in(_HELPER):  # a session cannot rename its own role
                self._run(ROLE, DATABASE, f"CREATE ROLE {_HELPER} SUPERUSER LOGIN;")
            self._run(_HELPER, DATABASE, _RENAME)
        self._run(ADMIN, DATABASE, f"DROP ROLE IF EXISTS {_HELPER};" + _OWN)

    def _lets_in(self, role: str) -> bool:
        return self.runner.code(*self._psql(role, DATABASE), "-c", "SELECT 1") == 0

    def _run(self, role: str, database: str, script: str) -> None:
        self.runner.ask(*self._psql(role, database), "--single-transaction", say=script)

    def _psql(self, role: str, database: str) -> Sequence[str | Path]:
        options = ("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1")
        return (self.programs / "psql", *options, "-h", self.socket, "-U", role, "-d", database)

    def _write(self, name: str, text: str) -> None:
        # By the server's own user, so that nothing this one planted could lead root to another file.
        self.runner.ask("/bin/sh", "-c", _WRITE, "sh", self.data.relative_to(self.runner.folder) / name, say=text)

    def _map(self) -> str:
        server = _name_of(self.runner.user.pw_uid if self.runner.user else os.geteuid())
        users = {server, _name_of(os.geteuid())}
        return f"server {server} all\n" + "".join(f"tidegate {user} all\n" for user in sorted(users))


def _name_of(number: int) -> str:
    """A user's name, quoted for the map."""
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError as problem:
        raise TidegateError(
            f"The user number {number} has no name on this machine, and the embedded PostgreSQL knows its users by "
            "name. Add the user to /etc/passwd, run Tidegate as another, or set DATABASE_URL to a server."
        ) from problem
    return '"' + name.replace('"', '""') + '"'
