"""The password of the operator."""

from __future__ import annotations

from tidegate.access.queries import sign_ins
from tidegate.database.pool import Database
from tidegate.web.auth.sign_in import hash_password

PASSWORD = "correct horse battery"


async def set_password(database: Database) -> None:
    async with database.transaction() as connection:
        await sign_ins.set_password(connection, await hash_password(PASSWORD))
