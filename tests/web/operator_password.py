"""The password of the operator."""

from __future__ import annotations

from tidegate.access.queries import operator_password
from tidegate.database.pool import Database
from tidegate.web.auth.operator_sign_in import hash_password

PASSWORD = "correct horse battery"


async def set_password(database: Database) -> None:
    async with database.transaction() as connection:
        await operator_password.set_password(connection, await hash_password(PASSWORD))
