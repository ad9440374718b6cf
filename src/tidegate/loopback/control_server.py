"""The process of the loopback platforms: a control address over HTTP, beside the addresses for clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from tidegate.core.errors import BadInput
from tidegate.core.task_groups import beside
from tidegate.loopback.browser_guard import OwnMachineOnly
from tidegate.loopback.call_record import as_json
from tidegate.loopback.counting_platform import CountingPlatform
from tidegate.loopback.discord.control import discord_control
from tidegate.loopback.discord.world import world_changes as discord_changing
from tidegate.loopback.discord.world.schema import FaultSpec as DiscordFaultSpec
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram.control import telegram_control
from tidegate.loopback.telegram.world import world_changes as telegram_changing
from tidegate.loopback.telegram.world.schema import FaultSpec as TelegramFaultSpec
from tidegate.loopback.whatsapp import world_changes as whatsapp_changing
from tidegate.loopback.whatsapp.control import whatsapp_control
from tidegate.loopback.whatsapp.schema import FaultSpec as WhatsAppFaultSpec
from tidegate.loopback.world_document import WorldSpec, what_is_wrong
from tidegate.web import listen, serve_web

FaultSpec = Annotated[TelegramFaultSpec | DiscordFaultSpec | WhatsAppFaultSpec, Field(discriminator="platform")]


@asynccontextmanager
async def serving(
    platforms: Platforms, counting: CountingPlatform, address: str, *, port: int = 0
) -> AsyncIterator[str]:
    """Run the platforms for as long as the block lasts; gives their control address."""
    with listen("127.0.0.1", port) as listener:
        app = make_control(counting, address, platforms)
        async with platforms.running(), beside(serve_web(app, listener)):
            yield "http://{}:{}".format(*listener.getsockname()[:2])


def make_control(platform: CountingPlatform, address: str, platforms: Platforms) -> FastAPI:
    """The API for demo and tests: where to connect, what the platforms received, and changes to their worlds."""
    app = FastAPI(title="Tidegate loopback", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(OwnMachineOnly)
    app.add_exception_handler(BadInput, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse)

    @app.get("/")
    async def where() -> dict[str, str]:
        return {"counting": address, **platforms.addresses}

    @app.put("/world")
    async def replace(spec: WorldSpec) -> dict[str, Any]:
        return platforms.replace(spec)

    @app.get("/stale")
    async def stale() -> dict[str, int]:
        return {"calls": len(platform.record.calls), "stale": len(platform.record.stale_calls())}

    app.include_router(_record(platform, platforms))
    app.include_router(_faults(platforms))
    app.include_router(telegram_control(platforms.telegram))
    app.include_router(discord_control(platforms.discord))
    app.include_router(whatsapp_control(platforms.whatsapp))
    return app


def _record(platform: CountingPlatform, platforms: Platforms) -> APIRouter:
    """The records of the platforms."""
    router = APIRouter()

    def shown(what: str) -> list[dict[str, Any]]:
        return [row for name, held in platforms.records.items() for row in as_json(name, getattr(held, what))]

    @router.get("/calls")
    async def calls(by: str = "") -> Any:
        if by == "method":
            counted = Counter(call.method for call in platform.record.calls)
            return sum((record.by_method() for record in platforms.records.values()), counted)
        return [{"platform": "counting", **asdict(call)} for call in platform.record.calls] + shown("calls")

    @router.delete("/calls")
    async def forget() -> dict[str, bool]:
        for record in (platform.record, *platforms.records.values()):
            record.calls.clear()
        return {"forgotten": True}

    @router.get("/sends")
    async def sends() -> Any:
        return [{"platform": "counting", **asdict(sent)} for sent in platform.record.sends] + shown("sends")

    @router.get("/uploads")
    async def uploads() -> Any:
        return shown("uploads")

    @router.get("/sessions")
    async def sessions() -> Any:
        counted = [{"platform": "counting", **asdict(session)} for session in platform.record.sessions]
        return counted + shown("sessions")

    @router.get("/unknown")
    async def unknown() -> list[str]:
        return [method for record in platforms.records.values() for method in record.unknown]

    return router


def _faults(platforms: Platforms) -> APIRouter:
    """Faults of the next calls."""
    router = APIRouter()

    def waiting() -> list[dict[str, Any]]:
        held = platforms.faults.items()
        return [{"platform": name, **asdict(fault)} for name, faults in held for fault in faults.waiting]

    @router.post("/faults")
    async def add(spec: FaultSpec) -> dict[str, int]:
        if isinstance(spec, TelegramFaultSpec):
            telegram_changing.add_fault(platforms.telegram.world, spec)
        elif isinstance(spec, DiscordFaultSpec):
            discord_changing.add_fault(platforms.discord.world, spec)
        else:
            whatsapp_changing.add_fault(platforms.whatsapp.world, spec)
        return {"waiting": len(waiting())}

    @router.get("/faults")
    async def listed() -> list[dict[str, Any]]:
        return waiting()

    @router.delete("/faults")
    async def clear() -> dict[str, int]:
        for faults in platforms.faults.values():
            faults.clear()
        return {"waiting": 0}

    return router


async def _refuse(_request: Request, refusal: Exception) -> Response:
    """An invalid request is answered with a sentence and changes nothing (bad-input-gets-a-sentence)."""
    if isinstance(refusal, RequestValidationError):
        refusal = BadInput(f"The request cannot be read ({what_is_wrong(refusal.errors())}).")
    return JSONResponse({"problem": str(refusal)}, status_code=422)
