"""Answers made piece by piece beside the loop."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, field

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import Response
from hypothesis import given
from hypothesis import strategies as st

from tests.web.web_client import answering
from tidegate.core.errors import BadInput
from tidegate.web.server.error_responses import explain
from tidegate.web.server.streamed_responses import PIECE, PiecewiseResponse, encoded_document, made_in_thread


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Sheet:
    title: str
    rows: list[Row] = field(default_factory=list)
    more: dict[str, list[int]] = field(default_factory=dict)


texts = st.text(st.characters(exclude_categories=["Cs"]))
rows = st.builds(Row, texts, st.none() | st.integers())
sheets = st.builds(Sheet, texts, st.lists(rows), st.dictionaries(texts, st.lists(st.integers())))


@given(sheets)
def test_a_document_is_the_same_in_pieces(sheet: Sheet) -> None:
    """Row by row it reads as if it had been made at once; as a dataclass, as its fields, and as a list of such."""
    right = asdict(sheet)
    assert json.loads("".join(encoded_document(sheet))) == right
    assert json.loads("".join(encoded_document(right))) == right
    assert json.loads("".join(encoded_document([sheet, sheet]))) == [right, right]


@pytest.mark.parametrize("document", [{}, [], None, "text", 1])
def test_what_has_no_rows_is_a_document_too(document: object) -> None:
    """An empty object, an empty list, or a value alone."""
    assert json.loads("".join(encoded_document(document))) == document


async def test_pieces_are_made_beside_the_loop() -> None:
    """Every one in a thread of the web server's own, which are not those that the worker uses; each of some size."""
    made_by = set()

    def words() -> Iterator[str]:
        for _ in range(30):
            made_by.add(threading.current_thread().name)
            yield "x" * (PIECE // 10)

    pieces = [len(piece) async for piece in made_in_thread(words())]
    assert {name.rpartition("_")[0] for name in made_by} == {"web-answers"}
    assert sum(pieces) == 30 * (PIECE // 10)
    assert max(pieces) <= PIECE + PIECE // 10


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    explain(app)

    @app.get("/{rows}/{wrong}")
    async def made(rows: int, wrong: int) -> Response:
        def texts() -> Iterator[str]:
            for number in range(rows):
                if number == wrong:
                    raise BadInput(f"row {number} is wrong")
                yield "x" * PIECE

        return PiecewiseResponse(made_in_thread(texts()), 201, {"x-own": "kept"}, "text/plain")

    async with answering(app) as opened:
        yield opened


class TestAnswers:
    async def test_a_short_one_goes_with_its_length(self, client: httpx.AsyncClient) -> None:
        """In one go, with its status and headers; nothing is as good an answer as something."""
        short = await client.get("/0/-1")
        assert (short.status_code, short.headers["content-length"], short.headers["x-own"]) == (201, "0", "kept")

    async def test_a_long_one_goes_as_it_is_made(self, client: httpx.AsyncClient) -> None:
        """Without a length, and whole."""
        long = await client.get("/5/-1")
        assert ("content-length" in long.headers, len(long.content), long.headers["x-own"]) == (
            False,
            5 * PIECE,
            "kept",
        )

    async def test_trouble_at_the_beginning_is_a_refusal(self, client: httpx.AsyncClient) -> None:
        """While nothing has been sent, what went wrong is said."""
        for wrong in (0, 1):
            refused = await client.get(f"/5/{wrong}")
            assert (refused.status_code, refused.json()["detail"]) == (400, f"row {wrong} is wrong")

    async def test_trouble_later_is_no_whole_answer(self, client: httpx.AsyncClient) -> None:
        """A client never takes half an answer for all of it."""
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/5/3")
