"""After a restore: tokens that were revoked, sessions that had ended and links that were used open nothing again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from tests.databases import empty_database
from tests.maintenance.filled_database import silent
from tests.web.api_client import refused
from tests.web.visiting import HTML, visiting
from tidegate.access.queries import operator_password, page_sessions, password_tries, sign_in_links, tokens
from tidegate.access.queries.page_sessions import SessionSpan
from tidegate.access.queries.password_tries import charge_try
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Address, Database
from tidegate.maintenance.backup_restore import back_up, restore
from tidegate.web.auth.operator_sign_in import hash_password
from tidegate.web.site_address import COOKIE

DAY = timedelta(days=1)
PASSWORD = "correct horse battery"


class Doors:
    """Everything that opened a door when the backup was made."""

    def __init__(self, token: str, session: str, link: str) -> None:
        self.token = {"authorization": f"Bearer {token}"}
        self.session = {"cookie": f"{COOKIE}={session}", **HTML}
        self.link = link


async def open_doors(database: Database) -> Doors:
    async with database.transaction() as connection:
        token = await tokens.add(connection, "bot", [TokenScope.READ], None)
        await operator_password.set_password(connection, await hash_password(PASSWORD))
        session = await page_sessions.begin_session(connection, "127.0.0.1", SessionSpan(DAY, DAY))
        link = await sign_in_links.make_link(connection)
        for _ in range(password_tries.TRIES_OF_ONE):
            await charge_try(connection, "127.0.0.1")
    return Doors(token, session, link)


@asynccontextmanager
async def restored(database: Database, target: Address, file: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the pages and the API over what a backup of *database* became."""
    await back_up(database.address, file, force=False, tell=silent)
    await restore(target, file, tell=silent)
    opened = await Database.open(target)
    try:
        async with visiting(opened) as client:
            yield client
    finally:
        await opened.close()


@pytest.fixture
async def target(server: Address) -> AsyncIterator[Address]:
    async with empty_database(server) as made:
        yield made


async def test_what_opened_doors_before_the_backup_opens_none_after_it(
    database: Database, target: Address, tmp_path: Path
) -> None:
    """Each may have been ended since; nobody can tell from the backup, so none is believed."""
    doors = await open_doors(database)
    async with restored(database, target, tmp_path / "backup") as client:
        answer = await client.get("/api/accounts", headers=doors.token)
        assert "restored from a backup" in refused(answer, 401)
        assert "tidegate token confirm" in answer.json()["detail"]
        assert (await client.get("/settings", headers=doors.session)).status_code == 303
        assert (await client.post("/sign-in/once", data={"once": doors.link})).status_code == 403


async def test_the_password_stays_and_old_tries_lock_nobody_out(
    database: Database, target: Address, tmp_path: Path
) -> None:
    """The operator knows it and needs a way in; wrong passwords counted before the backup are of no interest."""
    await open_doors(database)
    async with restored(database, target, tmp_path / "backup") as client:
        assert (await client.post("/sign-in", data={"password": PASSWORD})).status_code == 303
