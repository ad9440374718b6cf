"""A real browser on the pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, async_playwright, expect

from tests.programs import CHROMIUM, MISSING_CHROMIUM

needs_browser = pytest.mark.skipif(not CHROMIUM.exists() and not os.environ.get("CI"), reason=MISSING_CHROMIUM)
"""Without the browser a developer is told; CI fails instead."""

_PATIENCE_MS = 60_000
"""A browser looks again and again; what is late on a busy machine is not wrong."""

expect.set_options(timeout=_PATIENCE_MS)


@dataclass
class Watched:
    """A page and what must never happen on one: errors in its console, and requests to another host."""

    page: Page
    base: str
    session_may_end: bool = False
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if self.session_may_end and message.text.startswith("EventSource"):
            return  # the browser asks for news again and is led to the sign-in page
        if message.type in ("error", "warning"):
            self.wrong.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.base).netloc:
            self.wrong.append(f"another host: {request.url}")

    async def go(self, path: str) -> None:
        """Open a page and wait until it hears the news."""
        await self.page.goto(self.base + path)
        await self.page.wait_for_selector("#live.on")

    async def too_wide(self) -> int:
        """By how many pixels the page is wider than the screen."""
        wider: int = await self.page.evaluate(
            "Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)"
        )
        return wider

    async def problems(self) -> list[str]:
        """What was wrong so far, and what axe-core finds serious on the page as it is."""
        found: dict[str, Any] = (await Axe().run(self.page)).response
        serious = [
            f"axe: {one['id']} {[node['target'] for node in one['nodes']]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        return self.wrong + serious


@asynccontextmanager
async def browsing(base: str, link: str, **options: Any) -> AsyncIterator[Watched]:
    """A browser that came with a one-time link and is signed in; *options* are those of a Playwright context."""
    assert CHROMIUM.exists(), MISSING_CHROMIUM
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            context: BrowserContext = await browser.new_context(timezone_id="Asia/Tokyo", locale="en-GB", **options)
            context.set_default_timeout(_PATIENCE_MS)
            watched = Watched(await context.new_page(), base)
            await watched.page.goto(link)
            await watched.page.get_by_role("button", name="Sign in").click()
            await watched.page.wait_for_selector("#live.on")
            yield watched
        finally:
            await browser.close()
