"""The OpenAPI document is true: whatever is asked, no answer is our own fault and none is undocumented."""

from __future__ import annotations

import asyncio
from itertools import chain, repeat

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.store.test_context import kept
from tests.web.test_api import client
from tests.web.test_api_archives import three
from tidegate.store.database import Database
from tidegate.web.api.document import document

__all__ = ["client", "kept", "three"]  # fixtures

EXAMPLES = 12
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
    response_headers_conformance,
]  # fmt: skip


def ask(operation: APIOperation, mode: GenerationMode, client: httpx.AsyncClient) -> None:
    """Ask an address many things, by the rules of the document or against them."""
    session = requests.Session()
    session.trust_env = False
    shown = {"authorization": client.headers["authorization"]}

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def asked(case: Case) -> None:
        case.call_and_validate(base_url=str(client.base_url), session=session, headers=shown, checks=CHECKS)

    asked()


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
    schema = schemathesis.openapi.from_dict(document())
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 45
    for operation, mode in chain(
        zip(operations, repeat(GenerationMode.POSITIVE)), zip(operations, repeat(GenerationMode.NEGATIVE))
    ):
        if mode is GenerationMode.POSITIVE or operation.query or operation.body:
            await asyncio.to_thread(ask, operation, mode, client)
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
