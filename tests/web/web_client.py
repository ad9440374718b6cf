"""An application behind a real HTTP server, and a client of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI

from tests.waiting import PATIENCE
from tidegate.web import listen, serve_web

PLAIN = {"timeout": PATIENCE, "trust_env": False, "verify": False}
"""A client of this machine alone: it needs no certificates, and to load them takes longer than most requests."""


@asynccontextmanager
async def answering(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    serving = asyncio.create_task(serve_web(app, listener))
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", **PLAIN) as client:
            yield client
    finally:
        serving.cancel()
        await asyncio.wait([serving])
        assert serving.cancelled()
