"""Routes of the control address that every platform has: another user posts, edits or deletes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, get_type_hints

from fastapi import APIRouter
from pydantic import BaseModel


class ServesWorld(Protocol):
    """A stand-in platform, whose world may be replaced while it runs."""

    @property
    def world(self) -> Any: ...


Write = Callable[[Any, Any], list[Any]]
"""Changes a world as its parameter *spec* says; the ids of the messages it touched."""


def write_routes(server: ServesWorld, platform: str, *writes: Write) -> APIRouter:
    """A router with one route for each of *writes*, such as ``POST /discord/end-poll``, named after its function."""
    router = APIRouter()
    for write in writes:
        verb = write.__name__.replace("_", "-")
        router.add_api_route(f"/{platform}/{verb}", _route(server, write), methods=["POST"], name=verb)
    return router


def _route(server: ServesWorld, write: Write) -> Callable[[BaseModel], Awaitable[dict[str, list[Any]]]]:
    async def route(spec: BaseModel) -> dict[str, list[Any]]:
        return {"ids": write(server.world, spec)}

    route.__annotations__["spec"] = get_type_hints(write)["spec"]  # FastAPI reads from it what the body has to be
    return route
