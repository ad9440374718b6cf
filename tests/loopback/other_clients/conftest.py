"""A world for each platform, made over the control address, and the libraries that read it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import httpx
import pytest


class Control:
    """Changes the platforms over their control address, and asks it for the truth."""

    def __init__(self, client: httpx.AsyncClient, platform: str) -> None:
        self._client = client
        self._platform = platform

    async def make(self, **world: Any) -> None:
        await self._ask("PUT", "/world", **{self._platform: world})

    async def post(self, **message: Any) -> list[int]:
        ids: list[int] = (await self._ask("POST", f"/{self._platform}/post", **message))["ids"]
        return ids

    async def edit(self, **change: Any) -> None:
        await self._ask("POST", f"/{self._platform}/edit", **change)

    async def delete(self, **named: Any) -> None:
        await self._ask("POST", f"/{self._platform}/delete", **named)

    async def change(self, **wanted: Any) -> dict[str, Any]:
        told: dict[str, Any] = await self._ask("POST", f"/{self._platform}/change", **wanted)
        return told

    async def act(self, what: str, **named: Any) -> None:
        """What people do to messages: react, vote, view, pin."""
        await self._ask("POST", f"/{self._platform}/{what}", **named)

    async def kinds(self) -> list[str]:
        told: list[str] = await self._ask("GET", f"/{self._platform}/kinds")
        return told

    async def truth(self, channel: str | int) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = await self._ask("GET", f"/truth/{self._platform}/{channel}")
        return told

    async def unknown(self) -> list[str]:
        told: list[str] = await self._ask("GET", "/unknown")
        return told

    async def _ask(self, verb: str, path: str, **body: Any) -> Any:
        answer = await self._client.request(verb, path, json=body or None)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
async def kurigram() -> ModuleType:
    """The library by other authors for Telegram; it must be imported while a loop runs."""
    from tests.loopback.other_clients import kurigram_client

    return kurigram_client
