"""Request bodies, parsed in threads: JSON and forms, each with limits.

FastAPI parses a body before it checks who sent it, so any client can make the server parse one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.datastructures import FormData

from tidegate.web.server.streamed_responses import in_thread

N = TypeVar("N", int, float)
T = TypeVar("T")

LONGEST_NUMBER = 40
"""Characters of a number in JSON; the largest one that anything takes has 19. Reading a long one takes its square."""

MOST_NAMES = 1_000
"""Names of one object in JSON. Each unknown name is an error of its own, and takes ten microseconds."""

MOST_FIELDS = 20_000
"""Maximum number of fields of a form: one for each ticked group."""

_ESCAPES = re.compile(rb"(?:%[0-9a-fA-F]{2}){1,1000}")  # other threads get their turn between two runs
_SMALL = 16_384  # bytes that are read at once: going to a thread and back costs as much

_TOO_LONG = f"A number in a JSON document may have {LONGEST_NUMBER} characters; this document has a longer one."
_TOO_WIDE = f"An object in a JSON document may have {MOST_NAMES:,} names; this document has one with more."
_TOO_MANY = f"A form may have {MOST_FIELDS:,} fields; this one has more."
_NOT_TAKEN = "Forms are taken as application/x-www-form-urlencoded, not as multipart/form-data."


class BodyRoute(APIRoute):
    """A route whose request bodies are parsed in a thread, before anything else reads them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def with_body(request: Request) -> Response:
            await _read_body(request)
            return await handle(request)

        return with_body


class Router(APIRouter):
    """A router of such routes, unless it says another kind.

    Routers take in others' routes as they are: ``include_router`` makes each route once more for every level, and a
    process keeps them all.
    """

    def __init__(self, *, route_class: type[APIRoute] = BodyRoute, **how: Any) -> None:
        super().__init__(route_class=route_class, **how)

    def take_in(self, *routers: Router) -> None:
        """Answer what these routers answer, where they were made the same way as this one."""
        for router in routers:
            if type(router) is not type(self):
                raise TypeError(f"{type(self).__name__} takes in no {type(router).__name__}: it has no such checks.")
            self.routes.extend(router.routes)


class ApiRouter(Router):
    """A router of one part of the API, which its *tags* name in the OpenAPI document."""

    def __init__(self, prefix: str = "", *, tags: Sequence[str] = (), route_class: type[APIRoute] = BodyRoute) -> None:
        super().__init__(route_class=route_class, prefix=f"/api{prefix}", tags=list(tags))


async def _read_body(request: Request) -> None:
    """Put the parsed body where Starlette stores it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, _NOT_TAKEN)
    if kind == "application/x-www-form-urlencoded":
        request._form = await _beside_loop(_form, await request.body())
    elif kind == "application/json" or kind.endswith("+json"):
        await _read_json(request)


async def _read_json(request: Request) -> None:
    if body := await request.body():
        try:
            request._json = await _beside_loop(_document, body)
        except (ValueError, RecursionError):
            return  # FastAPI reads it once more and says what is wrong, or does not want it at all


async def _beside_loop(read: Callable[[bytes], T], body: bytes) -> T:
    return read(body) if len(body) <= _SMALL else await in_thread(lambda: read(body))


def _form(body: bytes) -> FormData:
    if body.count(b"&") >= MOST_FIELDS:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_MANY)
    halves = [field.partition(b"=") for field in body.split(b"&") if field]
    return FormData([(_unquoted(name), _unquoted(value)) for name, _, value in halves])


def _unquoted(written: bytes) -> str:
    """As ``unquote_plus`` of the standard library, without an object for each escape."""
    plain = _ESCAPES.sub(lambda run: bytes.fromhex(run[0].replace(b"%", b"").decode()), written.replace(b"+", b" "))
    return plain.decode("utf-8", "replace")


def _document(body: bytes) -> Any:
    return json.loads(body, parse_int=_bounded(int), parse_float=_bounded(float), object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MOST_NAMES:
        raise HTTPException(HTTPStatus.BAD_REQUEST, _TOO_WIDE)
    return dict(pairs)


def _bounded(kind: Callable[[str], N]) -> Callable[[str], N]:
    def read(written: str) -> N:
        if len(written) > LONGEST_NUMBER:
            raise HTTPException(HTTPStatus.BAD_REQUEST, _TOO_LONG)
        return kind(written)

    return read
