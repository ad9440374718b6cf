"""The loopback platforms as a process of their own: a control address over HTTP beside what the clients talk to."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections import Counter
from typing import Any

from fastapi import FastAPI

from tidegate.errors import BadInput
from tidegate.loopback.counting import CountingPlatform


def make_control(platform: CountingPlatform, address: str) -> FastAPI:
    """What demo and tests may ask the loopback process: where to connect, and what it saw."""
    app = FastAPI(title="Tidegate loopback", docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/")
    async def where() -> dict[str, str]:
        return {"counting": address}

    @app.get("/calls")
    async def calls(by: str = "") -> Any:
        if by == "method":
            return Counter(call.method for call in platform.record.calls)
        return platform.record.as_json()["calls"]

    @app.delete("/calls")
    async def forget() -> dict[str, bool]:
        platform.record.calls.clear()
        return {"forgotten": True}

    @app.get("/sends")
    async def sends() -> Any:
        return platform.record.as_json()["sends"]

    @app.get("/sessions")
    async def sessions() -> Any:
        return platform.record.as_json()["sessions"]

    @app.get("/stale")
    async def stale() -> dict[str, int]:
        return {"calls": len(platform.record.calls), "stale": len(platform.record.stale_calls())}

    return app


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
