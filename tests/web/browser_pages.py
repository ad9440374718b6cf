"""The pages in a browser that is signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.web.browsing import Watched, browsing
from tests.web.visiting import visiting
from tidegate.access.queries import sign_in_links
from tidegate.accounts.queries import accounts
from tidegate.core.account import Standing
from tidegate.database.pool import Database
from tidegate.platforms.telegram import TELEGRAM


@asynccontextmanager
async def pages(database: Database, **options: object) -> AsyncIterator[Watched]:
    async with visiting(database) as client:
        base = str(client.base_url).rstrip("/")
        async with browsing(base, await link(database, base), **options) as watched:
            yield watched


async def link(database: Database, base: str) -> str:
    """An address that signs somebody in, once."""
    async with database.transaction() as connection:
        return f"{base}/sign-in?once={await sign_in_links.make_link(connection)}"


async def add_account(database: Database, name: str) -> None:
    async with database.transaction() as connection:
        await accounts.add(connection, name, TELEGRAM, Standing.NORMAL, loopback="x")


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
