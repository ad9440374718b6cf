"""The loopback platforms as a process of their own: a control address over HTTP beside what the clients talk to."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response

from tidegate.errors import BadInput
from tidegate.loopback.counting import CountingPlatform
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.control import telegram_control
from tidegate.loopback.telegram.making import what_is_wrong
from tidegate.loopback.telegram.record import as_json, sessions_as_json


def make_control(platform: CountingPlatform, address: str, telegram: TelegramServer) -> FastAPI:
    """What demo and tests may ask the loopback process: where to connect, what it saw, and to change its world."""
    app = FastAPI(title="Tidegate loopback", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(BadInput, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse)

    @app.get("/")
    async def where() -> dict[str, str]:
        return {"counting": address, "telegram": telegram.address}

    @app.get("/calls")
    async def calls(by: str = "") -> Any:
        if by == "method":
            return Counter(call.method for call in platform.record.calls) + telegram.world.record.by_method()
        counted = [{"platform": "counting", **asdict(call)} for call in platform.record.calls]
        return counted + as_json(telegram.world.record.calls)

    @app.delete("/calls")
    async def forget() -> dict[str, bool]:
        platform.record.calls.clear()
        telegram.world.record.calls.clear()
        return {"forgotten": True}

    @app.get("/sends")
    async def sends() -> Any:
        counted = [{"platform": "counting", **asdict(sent)} for sent in platform.record.sends]
        return counted + as_json(telegram.world.record.sends)

    @app.get("/uploads")
    async def uploads() -> Any:
        return as_json(telegram.world.record.uploads)

    @app.get("/sessions")
    async def sessions() -> Any:
        counted = [{"platform": "counting", **asdict(session)} for session in platform.record.sessions]
        return counted + sessions_as_json(telegram.world.record.sessions)

    @app.get("/stale")
    async def stale() -> dict[str, int]:
        return {"calls": len(platform.record.calls), "stale": len(platform.record.stale_calls())}

    app.include_router(telegram_control(telegram))
    return app


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
