"""Databases as earlier releases left them: which there are, and how a test gets one."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg

from tests.servers import FAST, make_home
from tidegate.database.embedded.data_folder import DataFolder
from tidegate.database.migrations import FOLDER
from tidegate.database.pool import Address

RELEASES = Path(__file__).parent / "releases"
KEY = "fixture:dGlkZWdhdGUgZml4dHVyZSBrZXksIG5vIHNlY3JldCE="
"""The key ring that every fixture's sign-ins are encrypted with; they open nothing but loopback platforms."""


@dataclass(frozen=True)
class Release:
    """A database that the code of one commit made, at one step of the schema, and what is known of it."""

    schema: str
    made_at: datetime
    facts: dict[str, Any]

    @classmethod
    def load(cls, schema: str) -> Release:
        facts = json.loads((RELEASES / f"{schema}.json").read_text())
        return cls(schema, datetime.fromisoformat(facts["made_at"]), facts)

    @property
    def sql(self) -> str:
        return gzip.decompress((RELEASES / f"{self.schema}.sql.gz").read_bytes()).decode()

    async def restore(self, address: Address) -> None:
        """Fill an empty database."""
        connection = await asyncpg.connect(address.direct)
        try:
            await connection.execute(self.sql)
        finally:
            await connection.close()


SCHEMAS = sorted(file.stem for file in RELEASES.glob("*.json"))
STEPS = sorted(re.findall(r"^\d+", step.name)[0] for step in (FOLDER / "versions").glob("[0-9]*.py"))
LATER_STEPS = [step for step in STEPS if SCHEMAS and step > SCHEMAS[0]]


def newest_before(step: str) -> str:
    """The schema of the newest release that lacks *step*."""
    return max(schema for schema in SCHEMAS if schema < step)


async def make_old_data_folder(home: Path, release: Release) -> None:
    """A data folder as Tidegate made it up to step 0024, with the release's data in it and no server running.

    The server trusts everybody who reaches its socket, and its only role is a superuser. Written out here, because it
    has to stay as it was when Tidegate makes its folders in another way.
    """
    folder = DataFolder(make_home(home))
    programs, runner = folder.programs(), folder.runner
    unfinished = folder.fresh()
    locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    runner.ask(programs / "initdb", "-D", unfinished.name, "-U", "tidegate", "--auth=trust", *locale)
    settings = " ".join(f"-c {one}" for one in ["listen_addresses=", "unix_socket_directories=../socket", *FAST])
    log = f"{unfinished.name}/start.log"
    assert runner.code(programs / "pg_ctl", "start", "-w", "-D", unfinished.name, "-l", log, "-o", settings) == 0
    try:
        runner.ask(programs / "createdb", "-h", folder.socket, "-U", "tidegate", "tidegate")
        url = f"postgresql://tidegate@/tidegate?host={folder.socket}&port=5432"
        await release.restore(Address(url=url, direct=url))
    finally:
        assert runner.code(programs / "pg_ctl", "stop", "-w", "-D", unfinished.name, "-m", "fast") == 0
    unfinished.rename(folder.data)
    for lock in ("postgresql.lock", "postgresql.users"):
        (home / lock).touch()
        (home / lock).chmod(0o644)
    (home / "secret.key").touch(mode=0o600)
    (home / "secret.key").write_text(f"{KEY}\n")
