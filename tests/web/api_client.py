"""A client of the API, its token, and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from tests.web.web_client import answering
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Database
from tidegate.web import make_app


async def token(
    database: Database, name: str = "bot", *only: int, scopes: Sequence[TokenScope] = tuple(TokenScope)
) -> str:
    async with database.transaction() as connection:
        return await tokens.add(connection, name, scopes, list(only) or None)


@pytest.fixture
async def client(database: Database, kept: KnownChannel) -> AsyncIterator[httpx.AsyncClient]:
    """A client that shows a token for everything."""
    async with answering(make_app(database)) as opened:
        opened.headers["authorization"] = f"Bearer {await token(database)}"
        yield opened


def refused(answer: httpx.Response, status: int) -> str:
    """The sentence of a refusal, which is a problem as RFC 9457 has it."""
    document: dict[str, Any] = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, document["status"], document["type"]) == (status, status, "about:blank")
    return str(document["detail"])
