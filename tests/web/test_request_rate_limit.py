"""A flood of cheap requests: refused by address, and never at the cost of those who are signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.web.api_client import refused, token
from tests.web.visiting import loaded, sign_in
from tests.web.web_client import answering
from tidegate.database.pool import Database
from tidegate.web import make_app
from tidegate.web.server.request_rate_limit import RequestRates

ONE_A_SECOND = 10  # requests at once, and no time passes


@asynccontextmanager
async def flooded(database: Database, *, proxies: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """A client that asks at a time that stands still."""
    app = make_app(database, loaded(**({"TIDEGATE_WEB_PROXIES": proxies} if proxies else {})))
    app.state.request_rates = RequestRates(1, lambda: 100.0)
    async with answering(app) as client:
        yield client


async def statuses(client: httpx.AsyncClient, path: str, count: int, **headers: str) -> list[int]:
    return [(await client.get(path, headers=headers)).status_code for _ in range(count)]


@pytest.mark.parametrize("path", ["/health", "/sign-in", "/api/channels", "/nowhere", "/static/style.css"])
async def test_a_flood_from_an_address_is_refused(database: Database, path: str) -> None:
    """Whatever it asks for, and whatever it shows that nobody accepted; other addresses are answered."""
    async with flooded(database, proxies="127.0.0.1") as client:
        asked = [
            (await client.get(path, headers={"authorization": f"Bearer guess{number}", "x-forwarded-for": "192.0.2.1"}))
            for number in range(ONE_A_SECOND + 2)
        ]
        assert [one.status_code == 429 for one in asked] == [False] * ONE_A_SECOND + [True] * 2
        assert "1 a second are answered for each client" in refused(asked[-1], 429)
        assert int(asked[-1].headers["retry-after"]) == 1
        assert 429 not in await statuses(client, path, ONE_A_SECOND, **{"x-forwarded-for": "192.0.2.2"})


async def test_who_is_signed_in_is_answered_beside_a_flood(database: Database) -> None:
    """A token and a browser that were accepted have requests of their own, and each as many as anybody."""
    bearer = f"Bearer {await token(database)}"
    async with flooded(database) as client:
        assert await statuses(client, "/api/channels", 1, authorization=bearer) == [200]
        await sign_in(client, database)
        mine = dict(client.cookies)
        client.cookies.clear()
        assert 429 in await statuses(client, "/health", ONE_A_SECOND)
        assert await statuses(client, "/api/channels", ONE_A_SECOND + 1, authorization=bearer) == [
            *[200] * ONE_A_SECOND, 429,
        ]  # fmt: skip
        client.cookies.update(mine)
        assert await statuses(client, "/channels", 2) == [200, 200]
