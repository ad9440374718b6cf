"""What an address or a button names and is not there: 404, with a sentence that says what is missing."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi.routing import APIRoute

from tests.web.api_client import token
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Database
from tidegate.web import pages
from tidegate.web.openapi import document
from tidegate.web.server.request_bodies import Router

GONE = "4711"
NAMED_IN_A_FORM = ["/accounts/pause", "/accounts/resume", "/accounts/sync", "/accounts/sign-in", "/reminders/fire",
                   "/reminders/test", "/reminders/test-privately", "/reminders/remove",
                   "/settings/tokens/revoke"]  # fmt: skip
FORM = {
    "name": GONE,
    "reminder": GONE,
    "resolution": "sent",
    "group": "1",
    "answer": "x",
    "account": "shop",
    "standing": "new",
}
REMINDER = {"name": "x", "account": "shop", "parts": [{"text": "x"}], "all": True}
BODIES = {
    "/api/reminders/{reminder}": REMINDER,
    "/api/reminders/{reminder}/test": {"target": "x"},
    "/api/target-lists/{saved_list}": {"name": "x", "groups": []},
    "/api/runs/{run}/resolve": {"as": "sent"},
    "/api/runs/{run}/remainder": {"account": "shop"},
}
MAKES_IT = ("/uploads/{name}", "/api/uploads/{name}")


def routes() -> list[tuple[str, str]]:
    """Every page and button that names something: those with a place for it in their address, and the forms above."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(pages.__path__, f"{pages.__name__}.")
        if not found.ispkg
    ]
    all_of_them = [
        route
        for module in modules
        for route in getattr(module, "pages", Router()).routes
        if isinstance(route, APIRoute)
    ]
    in_address = [
        ("GET" if "GET" in route.methods else "POST", re.sub(r"{\w+}", GONE, route.path))
        for route in all_of_them
        if "{" in route.path and route.path not in MAKES_IT
    ]
    return [*in_address, *(("POST", path) for path in NAMED_IN_A_FORM)]


def addresses() -> list[tuple[str, str]]:
    """Every address of the API that names something."""
    return [
        (method.upper(), path)
        for path, ways in document()["paths"].items()
        for method in ways
        if "{" in path and path not in MAKES_IT
    ]


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, where there is nothing but an account."""
    await database.pool.execute("INSERT INTO accounts (name, platform) VALUES ('shop', 'telegram')")
    async with visiting(database) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


async def test_a_page_of_what_is_not_there_says_so(client: httpx.AsyncClient) -> None:
    """404 with a page's own sentence, which names what is missing and sends nobody to a terminal."""
    assert len(routes()) > 30
    for method, path in routes():
        form = {**FORM, "change_token": client.headers["x-for-tests"]}
        answer = await client.request(method, path, **({"data": form} if method == "POST" else {}))
        assert answer.status_code == 404, (method, path, answer.text)
        said = re.search(r"<h1>Page not found</h1>\s*<p>(.+?)</p>", answer.text, re.DOTALL)
        assert said is not None, path
        assert GONE in said[1] or "Begin again." in said[1], (path, said[1])
        assert "tidegate " not in said[1], (path, said[1])


async def test_a_button_of_what_is_not_there_says_so(client: httpx.AsyncClient) -> None:
    """To the page's script the same sentence is a problem, which it shows."""
    answer = await client.post(f"/activity/{GONE}/pause", headers=htmx(client.headers["x-for-tests"]))
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["detail"] == f"There is no run {GONE}; it may have been deleted."


async def test_the_api_says_that_it_is_not_there(client: httpx.AsyncClient, database: Database) -> None:
    """404 as a problem whose sentence names what is missing, whatever is asked of it."""
    client.headers["authorization"] = f"Bearer {await token(database, scopes=list(TokenScope))}"
    assert len(addresses()) > 30
    for method, path in addresses():
        answer = await client.request(method, re.sub(r"{\w+}", GONE, path), json=BODIES.get(path))
        assert answer.status_code == 404, (method, path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json", path
        assert GONE in answer.json()["detail"], path


async def test_what_a_document_names_amiss_is_the_documents_fault(
    client: httpx.AsyncClient, database: Database
) -> None:
    """An address that leads nowhere is 404; a reminder that names an account there is not is 400, as it was."""
    client.headers["authorization"] = f"Bearer {await token(database, scopes=list(TokenScope))}"
    answer = await client.post("/api/reminders", json={**REMINDER, "account": GONE})
    assert (answer.status_code, answer.json()["detail"].split(".")[0]) == (400, f'There is no account named "{GONE}"')
