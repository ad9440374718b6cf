"""Whether the house can do its work, as load balancers and people ask it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from datetime import timedelta

import asyncpg

from tidegate import __version__
from tidegate.errors import TidegateError
from tidegate.store import upgrade, workers
from tidegate.store.database import Database

PATIENCE = timedelta(seconds=2)
"""How long the database may take to answer before the house counts as unwell."""


@dataclass(frozen=True, slots=True)
class Health:
    """The house answers: which version and schema, on which database, with how many workers and accounts."""

    version: str
    schema: str
    database: str
    workers: int
    accounts: int

    def document(self) -> dict[str, object]:
        return {"status": "ok", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Unwell:
    """The house cannot work, and the sentence that says why."""

    problem: str

    def document(self) -> dict[str, object]:
        return {"status": "unwell", "version": __version__, "problem": self.problem}


async def look(database: Database, patience: timedelta = PATIENCE) -> Health | Unwell:
    """Ask the database; it has *patience* to answer, and as long again to let go of the question."""
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await _ask(database, patience)
    except TimeoutError:
        return Unwell(f"The database did not answer within {patience.total_seconds():g} s.")
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:
        return Unwell(f"The database does not answer ({type(problem).__name__}).")
    except TidegateError as problem:
        return Unwell(str(problem))


async def _ask(database: Database, patience: timedelta) -> Health:
    # The pool also waits that long, and no longer, for a connection that does not react to being given back.
    async with database.pool.acquire(timeout=patience.total_seconds()) as connection:
        schema = await upgrade.version(connection)
        upgrade.require_current(schema)
        return Health(
            version=__version__,
            schema=str(schema),
            database=f"PostgreSQL {await connection.fetchval('SHOW server_version')}",
            workers=len(await workers.alive(connection)),
            accounts=await connection.fetchval("SELECT count(*) FROM accounts"),
        )
