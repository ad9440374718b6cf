"""The loopback platforms as a process of their own: a control address over HTTP beside what the clients talk to."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from tidegate.errors import BadInput
from tidegate.loopback.counting import CountingPlatform
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord import changing as discord_changing
from tidegate.loopback.discord.control import discord_control, names
from tidegate.loopback.discord.making import make_world as make_discord
from tidegate.loopback.discord.schema import FaultSpec as DiscordFaultSpec
from tidegate.loopback.record import as_json
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram import changing as telegram_changing
from tidegate.loopback.telegram.control import telegram_control
from tidegate.loopback.telegram.making import make_world as make_telegram
from tidegate.loopback.telegram.schema import FaultSpec as TelegramFaultSpec
from tidegate.loopback.worlds import WorldSpec, what_is_wrong

FaultSpec = Annotated[TelegramFaultSpec | DiscordFaultSpec, Field(discriminator="platform")]


def make_control(platform: CountingPlatform, address: str, telegram: TelegramServer, discord: DiscordServer) -> FastAPI:
    """What demo and tests may ask the loopback process: where to connect, what it saw, and to change its world."""
    app = FastAPI(title="Tidegate loopback", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(BadInput, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse)

    @app.get("/")
    async def where() -> dict[str, str]:
        return {"counting": address, "telegram": telegram.address, "discord": discord.address}

    @app.put("/world")
    async def replace(spec: WorldSpec) -> dict[str, Any]:
        worlds = make_telegram(spec, telegram.clock), make_discord(spec.discord, discord.clock, seed=spec.seed)
        telegram.replace_world(worlds[0])
        discord.replace_world(worlds[1])
        channels = {channel.title: channel.id for channel in telegram.world.channels.values()}
        return {"channels": channels, "discord": names(discord.world)}

    @app.get("/stale")
    async def stale() -> dict[str, int]:
        return {"calls": len(platform.record.calls), "stale": len(platform.record.stale_calls())}

    app.include_router(_record(platform, telegram, discord))
    app.include_router(_faults(telegram, discord))
    app.include_router(telegram_control(telegram))
    app.include_router(discord_control(discord))
    return app


def _record(platform: CountingPlatform, telegram: TelegramServer, discord: DiscordServer) -> APIRouter:
    """What the platforms saw."""
    router = APIRouter()

    @router.get("/calls")
    async def calls(by: str = "") -> Any:
        records = telegram.world.record, discord.world.record
        if by == "method":
            counted = Counter(call.method for call in platform.record.calls)
            return counted + records[0].by_method() + records[1].by_method()
        held = [{"platform": "counting", **asdict(call)} for call in platform.record.calls]
        return held + as_json("telegram", records[0].calls) + as_json("discord", records[1].calls)

    @router.delete("/calls")
    async def forget() -> dict[str, bool]:
        for record in (platform.record, telegram.world.record, discord.world.record):
            record.calls.clear()
        return {"forgotten": True}

    @router.get("/sends")
    async def sends() -> Any:
        counted = [{"platform": "counting", **asdict(sent)} for sent in platform.record.sends]
        held = as_json("telegram", telegram.world.record.sends) + as_json("discord", discord.world.record.sends)
        return counted + held

    @router.get("/uploads")
    async def uploads() -> Any:
        return as_json("telegram", telegram.world.record.uploads) + as_json("discord", discord.world.record.uploads)

    @router.get("/sessions")
    async def sessions() -> Any:
        counted = [{"platform": "counting", **asdict(session)} for session in platform.record.sessions]
        connected = as_json("discord", discord.world.record.connections)
        return counted + as_json("telegram", telegram.world.record.sessions) + connected

    @router.get("/unknown")
    async def unknown() -> list[str]:
        return telegram.world.record.unknown + discord.world.record.unknown

    return router


def _faults(telegram: TelegramServer, discord: DiscordServer) -> APIRouter:
    """What goes wrong next."""
    router = APIRouter()

    def waiting() -> list[dict[str, Any]]:
        held = (("telegram", telegram.world.faults.waiting), ("discord", discord.world.faults.waiting))
        return [{"platform": name, **asdict(fault)} for name, faults in held for fault in faults]

    @router.post("/faults")
    async def add(spec: FaultSpec) -> dict[str, int]:
        if isinstance(spec, TelegramFaultSpec):
            telegram_changing.add_fault(telegram.world, spec)
        else:
            discord_changing.add_fault(discord.world, spec)
        return {"waiting": len(waiting())}

    @router.get("/faults")
    async def listed() -> list[dict[str, Any]]:
        return waiting()

    @router.delete("/faults")
    async def clear() -> dict[str, int]:
        telegram.world.faults.clear()
        discord.world.faults.clear()
        return {"waiting": 0}

    return router


async def _refuse(_request: Request, refusal: Exception) -> Response:
    """What cannot be done gets a sentence and changes nothing (law 12)."""
    if isinstance(refusal, RequestValidationError):
        refusal = BadInput(f"The request cannot be read ({what_is_wrong(refusal.errors())}).")
    return JSONResponse({"problem": str(refusal)}, status_code=422)


async def ask_control(control: str, path: str = "/") -> Any:
    """Ask a loopback process by its control address."""
    if not control.startswith("http://127.0.0.1:"):
        raise BadInput(f"{control} is no loopback platform: its control address begins with http://127.0.0.1:")
    return await asyncio.to_thread(_get, control.rstrip("/") + path)


def _get(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - checked above: 127.0.0.1 over http
            return json.load(answer)
    except (OSError, ValueError, urllib.error.URLError) as problem:
        raise BadInput(f"No loopback platform answers at {url}; start one with: tidegate loopback") from problem
