"""The health check for load balancers and people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

import asyncpg

from tidegate import __version__
from tidegate.accounts.queries import accounts
from tidegate.core.errors import TidegateError
from tidegate.database.migrations import upgrade
from tidegate.database.pool import Connection, Database, server_version
from tidegate.workers.queries import workers

PATIENCE = timedelta(seconds=2)
"""How long the database may take to answer before the process counts as unhealthy."""


@dataclass(frozen=True, slots=True)
class Health:
    """Healthy: version and schema, the database, and the number of workers and accounts."""

    version: str
    schema: str
    database: str
    workers: int
    accounts: int

    def document(self) -> dict[str, object]:
        return {"status": "ok", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """Unhealthy, with a sentence that says why."""

    problem: str

    def document(self) -> dict[str, object]:
        return {"status": "unwell", "version": __version__, "problem": self.problem}


async def look(database: Database, patience: timedelta = PATIENCE) -> Health | Unhealthy:
    """Query the database; it has *patience* to answer, and as long again to cancel the query."""
    try:
        async with database.within(patience).connection() as connection:
            return await _ask(connection)
    except TimeoutError:
        return Unhealthy(f"The database did not answer within {patience.total_seconds():g} s.")
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:
        return Unhealthy(f"The database does not answer ({type(problem).__name__}).")
    except TidegateError as problem:
        return Unhealthy(str(problem))


async def _ask(connection: Connection) -> Health:
    schema = await upgrade.version(connection)
    upgrade.require_current(schema)
    return Health(
        version=__version__,
        schema=str(schema),
        database=f"PostgreSQL {await server_version(connection)}",
        workers=len(await workers.alive(connection)),
        accounts=await accounts.count_all(connection),
    )
