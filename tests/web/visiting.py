"""A browser's part of the pages, without a browser: cookies, forms and what htmx adds."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.web.web_client import answering
from tidegate.access.queries import sign_in_links
from tidegate.app.setting_sources import LoadedSettings, load
from tidegate.database.pool import Database
from tidegate.web import make_app
from tidegate.web.site_address import COOKIE

HTML = {"accept": "text/html,*/*;q=0.8"}


def loaded(**variables: str) -> LoadedSettings:
    """Settings of nobody's machine, and the given ones."""
    return load({"TIDEGATE_HOME": "/nowhere", **variables}, folder=Path("/nowhere"))


@asynccontextmanager
async def visiting(database: Database, **variables: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the pages that is not signed in."""
    async with answering(make_app(database, loaded(**variables))) as client:
        client.headers.update(HTML)
        yield client


async def sign_in(client: httpx.AsyncClient, database: Database, *, prefix: str = "") -> str:
    """Begin a session for *client*; returns the token that its forms carry."""
    async with database.transaction() as connection:
        secret = await sign_in_links.make_link(connection)
    answer = await client.post(f"{prefix}/sign-in/once", data={"once": secret})
    assert (answer.status_code, COOKIE in client.cookies) == (303, True)
    return change_token((await client.get(f"{prefix}/settings")).text)


def change_token(text: str) -> str:
    found = re.search(r'name="change_token" value="([0-9a-f]{64})"', text)
    assert found is not None
    return found[1]


def htmx(token: str) -> Mapping[str, str]:
    """What htmx sends along with a request from one of our pages."""
    return {"hx-request": "true", "x-change-token": token, "sec-fetch-site": "same-origin", "accept": "*/*"}
