"""Somebody signed in who may send reminders to three groups."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.web.visiting import sign_in, visiting
from tidegate.database.pool import Database

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
GROUPS = """
INSERT INTO accounts (name, platform, standing) VALUES ('shop', 'telegram', 'normal');
INSERT INTO pace (account, tat, rate, ceiling) VALUES (1, clock_now() - interval '1 day', 40, 40);
INSERT INTO channels (platform, number, title, kind)
SELECT 'telegram', n, 'Group ' || n, 'group' FROM generate_series(1, 3) n;
INSERT INTO sights (account, channel, may_post) SELECT 1, id, true FROM channels;
"""


FORM = {
    "name": "Friday stock", "account": "shop", "to": "all", "text": "Good morning {group}", "file": "", "sha256": "",
    "fires": "hand", "timezone": "UTC", "start_hour": "0", "end_hour": "24",
}  # fmt: skip


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, with an account that writes to three groups."""
    await database.pool.execute(GROUPS)
    async with visiting(database) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


def filled(client: httpx.AsyncClient, **values: Any) -> dict[str, Any]:
    return {**FORM, **values, "change_token": client.headers["x-for-tests"]}
