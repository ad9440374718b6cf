"""Responses that are built piece by piece in threads, so that neither the event loop nor the worker waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

T = TypeVar("T")

PIECE = 65_536
"""About how many characters are made at a time; encoding holds every thread meanwhile."""

_threads = ThreadPoolExecutor(2, thread_name_prefix="web-answers")  # the loop's own are the worker's too


async def in_thread(work: Callable[[], T]) -> T:
    """Run CPU-bound work in a thread of the web server."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


async def made_in_thread(texts: Iterable[str]) -> AsyncIterator[bytes]:
    """Make what *texts* yields in a thread, about ``PIECE`` characters at a time."""
    left = iter(texts)
    more = True
    while more:
        piece, more = await in_thread(lambda: _next_piece(left))
        yield piece


def _next_piece(texts: Iterator[str]) -> tuple[bytes, bool]:
    taken, size = [], 0
    for text in texts:
        taken.append(text)
        size += len(text)
        if size >= PIECE:
            return "".join(taken).encode(), True
    return "".join(taken).encode(), False


class PiecewiseResponse(StreamingResponse):
    """A response that is sent while it is built.

    Nothing is sent before two pieces are there, or the only one. An error until then is still an error response, and a
    short response is sent at once with its length.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces = aiter(self.body_iterator)
        first = await anext(pieces, b"")
        second = await anext(pieces, None)
        if second is None:
            self.headers["content-length"] = str(len(first))
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": first})
            return
        self.body_iterator = _after([first, second], pieces)
        await super().__call__(scope, receive, send)


async def _after(first: Iterable[T], others: AsyncIterator[T]) -> AsyncIterator[T]:
    for one in first:
        yield one
    async for one in others:
        yield one


# JSON


def encoded(value: object) -> str:
    """A value as JSON; dataclasses become objects."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=members)


def members(shape: Any) -> dict[str, Any]:
    """The fields of a dataclass with their values."""
    return {field.name: getattr(shape, field.name) for field in fields(shape)}


def encoded_document(document: object) -> Iterator[str]:
    """A document as JSON: lists in it, and the document itself when it is one, row by row."""
    if isinstance(document, list | tuple):
        yield from _rows(document)
        return
    named = members(document) if is_dataclass(document) else document
    if not isinstance(named, Mapping):
        yield encoded(named)
        return
    before = "{"
    for name, value in named.items():
        yield f"{before}{encoded(str(name))}:"
        yield from _rows(value) if isinstance(value, list | tuple) else [encoded(value)]
        before = ","
    yield "}" if named else "{}"


def _rows(rows: Iterable[object]) -> Iterator[str]:
    yield "["
    before = ""
    for row in rows:
        yield before + encoded(row)
        before = ","
    yield "]"
