"""Bodies of requests: read beside the event loop, and bounded in what they may hold."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from urllib.parse import unquote_plus, urlencode

import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st

from tests.history.stored_messages import kept
from tests.web.api_client import client, refused
from tests.web.visiting import sign_in, visiting
from tidegate.database.pool import Database
from tidegate.web.auth.operator_sign_in import signing_in
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.openapi import api
from tidegate.web.pages import guarded_pages
from tidegate.web.server.request_bodies import MOST_FIELDS, ApiRouter, BodyRoute, Router, _form
from tidegate.web.server.streamed_responses import in_thread

__all__ = ["client", "kept"]  # fixtures

JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@contextmanager
def no_threads() -> Iterator[None]:
    """Nothing is done beside the loop for the time of the block."""
    free = threading.Event()
    kept_busy = [asyncio.create_task(in_thread(free.wait)) for _ in range(2)]
    try:
        yield
    finally:
        free.set()
    assert kept_busy


@pytest.fixture
async def visitor(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(database) as opened:
        yield opened


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/api/target-lists", JSON, '{"name": "' + "x" * 100_000 + '", "groups": 5}'),
        ("/reminders/review", {**FORM, "hx-request": "true", "accept": "*/*"}, "name=" + "%41" * 100_000),
    ],
    ids=["json", "form"],
)
async def test_a_long_body_is_read_beside_the_loop(
    visitor: httpx.AsyncClient, path: str, headers: dict[str, str], body: str
) -> None:
    """While the threads for it are busy it is not answered, and whatever is short is."""
    with no_threads():
        long = asyncio.create_task(visitor.post(path, content=body, headers=headers))
        for _ in range(20):
            assert (await visitor.post("/api/target-lists", content="{}", headers=JSON)).status_code in (401, 422)
        assert not long.done()
    assert (await long).status_code < 500


@pytest.mark.parametrize("number", ["9" * 4_300, "-" + "9" * 41, "0." + "1" * 4_000, "1e" + "0" * 4_000])
async def test_no_number_of_a_document_is_long(client: httpx.AsyncClient, number: str) -> None:
    """Reading one takes the square of its length. What is refused is told, wherever it stands."""
    body = '{"name": "x", "groups": [' + ",".join([number] * (1_000_000 // len(number))) + "]}"
    answer = await client.post("/api/target-lists", content=body, headers=JSON)
    assert "A number in a JSON document may have 40 characters" in refused(answer, 400)


async def test_no_object_of_a_document_has_very_many_names(client: httpx.AsyncClient) -> None:
    """Each that nobody knows would be an error of its own, worked out before the first of them is told."""
    wide = json.dumps({f"name {number}": 1 for number in range(1_001)})
    for body in (wide, f'{{"parts": [{wide}]}}'):
        answer = await client.post("/api/reminders", content=body, headers=JSON)
        assert "An object in a JSON document may have 1,000 names" in refused(answer, 400)


async def test_a_document_that_is_none_is_told_as_before(client: httpx.AsyncClient) -> None:
    """Long or short, FastAPI says where it is wrong."""
    for size in (10, 50_000):
        answer = await client.post("/api/target-lists", content='{"a": "' + "x" * size + '",}', headers=JSON)
        assert "JSON decode error" in refused(answer, 422)


async def test_forms_are_bounded_by_their_fields(database: Database, visitor: httpx.AsyncClient) -> None:
    """One field for each of very many groups is taken, and more than that told; nobody sends files in a form."""
    token = await sign_in(visitor, database)
    many = [("change_token", token), *(("group", f"g{number}") for number in range(3_000))]
    shown = await visitor.post("/reminders/review", content=urlencode(many), headers=FORM)
    assert (shown.status_code, "Too many fields" in shown.text) == (200, False)
    answer = await visitor.post("/reminders/review", content="a=1&" * MOST_FIELDS, headers=FORM)
    assert (answer.status_code, "A form may have 20,000 fields" in answer.text) == (413, True)
    answer = await visitor.post("/reminders/review", files={"file": b"x"})
    assert (answer.status_code, "not as multipart/form-data" in answer.text) == (415, True)


_TYPED = st.text(st.characters(codec="utf-8"))


@given(pairs=st.lists(st.tuples(_TYPED, _TYPED)))
def test_a_form_says_what_was_typed(pairs: list[tuple[str, str]]) -> None:
    """Every character of every language, names that come twice, values that are empty."""
    assert _form(urlencode(pairs).encode()).multi_items() == pairs


@given(written=st.text("%+4aAfFgz é", max_size=30) | st.text("%41", max_size=5_000))
def test_what_is_no_escape_stays(written: str) -> None:
    """Half an escape, or none at all: as the standard library reads it."""
    [(_, value)] = _form(b"name=" + written.encode()).multi_items()
    assert value == unquote_plus(written)


@pytest.mark.parametrize("router", [api, guarded_pages, signing_in], ids=["api", "pages", "sign-in"])
def test_every_address_reads_its_bodies_so(router: APIRouter) -> None:
    """Also one that is added; files alone are taken as they come."""
    found = [route for route in router.routes if isinstance(route, APIRoute) and {"POST", "PUT"} & route.methods]
    assert found
    assert {route.path for route in found if not isinstance(route, BodyRoute)} <= {
        "/uploads/{name}",
        "/api/uploads/{name}",
    }


def test_what_makes_no_such_check_is_not_taken_in() -> None:
    """A page that forgot the sign-in is no page, and a route of the API is none either."""
    with pytest.raises(TypeError, match="takes in no Router"):
        GuardedRouter().take_in(Router())
    with pytest.raises(TypeError, match="takes in no ApiRouter"):
        GuardedRouter().take_in(ApiRouter())
