"""The OpenAPI document is true: whatever is asked, no answer is our own fault and none is undocumented."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.history.stored_messages import kept
from tests.web.api_client import client
from tests.web.archive_builder import three
from tidegate.database.pool import Database
from tidegate.web.openapi import document

__all__ = ["client", "kept", "three"]  # fixtures


async def fire_one(client: httpx.AsyncClient) -> None:
    """A reminder and a run, so that there is something to show and to steer."""
    written = {"name": "1", "account": "reader", "all": True, "parts": [{"text": "Hello {group}"}]}
    assert (await client.post("/api/reminders", json=written)).status_code == 201
    assert (await client.post("/api/reminders/1/fire")).status_code == 202


@pytest.mark.usefixtures("three")
async def test_every_answer_is_documented_and_none_is_our_own_fault(
    client: httpx.AsyncClient, database: Database
) -> None:
    """Each address with what the document allows and with what it does not, over a database with something in it."""
    await database.pool.execute("UPDATE sights SET may_post = true")
    await fire_one(client)
    from tests.web.asking import questions  # Schemathesis takes longest to load of all that tests use

    asked = questions(document(), str(client.base_url), client.headers["authorization"])
    assert len(asked) > 70
    for ask in asked:
        await asyncio.to_thread(ask)
        await database.pool.execute("UPDATE accounts SET state = 'active'")


async def test_every_address_says_how_it_refuses() -> None:
    """No token, the wrong scope, input of the wrong kind: all have them, and each as a problem with a sentence."""
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            answers = told["responses"]
            assert {"400", "401", "403", "422"} <= set(answers), (method, path)
            for status, answer in answers.items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"], (method, path, status)
            assert told["security"] == [{"HTTPBearer": []}], path
            assert told.get("summary"), path
            assert told.get("description"), path
