"""Work of accounts that waits for a machine: for its disk, its processes, or a store that it uses."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import AccountId
from tidegate.database.pool import Connection
from tidegate.events.event_data import EventData
from tidegate.events.queries import feed


@dataclass(frozen=True, slots=True)
class MachinePause:
    """The accounts whose work waits for a machine, in a table of their own.

    A pause is reported once when it begins and once when it ends, however many accounts wait.
    """

    table: str
    lock: str

    async def note(
        self, connection: Connection, account: AccountId, machine: str, paused: EventData, **columns: object
    ) -> None:
        """*account* waits for *machine*; *paused* is recorded when no other account waits there yet."""
        others = await self._waiting_for(connection, machine)
        values = {"account": account, "machine": machine, **columns}
        places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        changes = ", ".join(f"{name} = excluded.{name}" for name in values)
        await connection.execute(
            f"INSERT INTO {self.table} ({', '.join(values)}) VALUES ({places}) "
            f"ON CONFLICT (account) DO UPDATE SET {changes}",
            *values.values(),
        )
        if not others:
            await feed.record(connection, machine, paused)

    async def clear(self, connection: Connection, account: AccountId, resumed: EventData) -> None:
        """*account* waits no more; *resumed* is recorded when no account waits for the machine any more."""
        machine: str | None = await connection.fetchval(
            f"DELETE FROM {self.table} WHERE account = $1 RETURNING machine", account
        )
        if machine is not None and not await self._waiting_for(connection, machine):
            await feed.record(connection, machine, resumed)

    async def _waiting_for(self, connection: Connection, machine: str) -> int:
        """How many accounts wait for *machine*; concurrent callers are answered one after the other."""
        name = f"{self.lock} {machine}"
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", name)
        number: int = await connection.fetchval(f"SELECT count(*) FROM {self.table} WHERE machine = $1", machine)
        return number
