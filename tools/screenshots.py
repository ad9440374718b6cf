"""Pictures of every page over the demo, in two themes and four widths: ``./dev screenshots FOLDER``.

The pages are found as a person finds them, by links from the menu on: one page of each kind. Charts get a month of
made-up sums, because the demo is a minute old.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
from playwright.async_api import Browser, BrowserContext, Error, Page, async_playwright

from tidegate.core.terminal import print_line

THEMES = ("light", "dark")
WIDTHS = (320, 390, 834, 1280)
HEIGHTS = {320: 640, 390: 844, 834: 1112, 1280: 900}

_CHROMIUM = Path("/usr/bin/chromium")
_TIDEGATE = Path(sys.executable).parent / "tidegate"
_PATIENCE = 300
_LONGEST = 8_000
_LINK = re.compile(r"(http://[^\s/]+)(/sign-in\?once=\S+)")
_DATABASE = re.compile(r"export DATABASE_URL='([^']+)'")
_NOT_PAGES = re.compile(r"/(static|media|file|avatar|picture|thumbnail|events|api|menu|health|metrics)\b|\.csv|/now$")
_NAMED = {"": "home", "activity": "sends", "activity-n": "send", "messages": "search"}
_MORE = (
    "/sign-in", "/nowhere", "/messages?q=ship", "/archives?state=failed", "/?range=30d",
)  # fmt: skip
"""Pages that no link leads to, or that look different with these words."""

_SUMS = """
    INSERT INTO message_hours (channel, hour, messages)
    SELECT c.id, date_trunc('hour', now(), 'UTC') - n * interval '1 hour',
        1 + (c.id * 31 + n * 17) % 9 + 8 * (n % 24 BETWEEN 2 AND 12)::integer
    FROM channels c, generate_series(1, 720) n WHERE c.enabled AND (n * 7 + c.id) % 3 > 0
    ON CONFLICT DO NOTHING;
    INSERT INTO account_hours (account, hour, requests, sends, errors, checks, check_requests, check_places)
    SELECT a.id, date_trunc('hour', now(), 'UTC') - n * interval '1 hour', 40 + (n * 13 + a.id) % 50,
        CASE WHEN a.platform = 'whatsapp' AND n % 24 = 5 THEN 80 ELSE 0 END, (n % 37 = 0)::integer * 6, 6, 8, 120
    FROM accounts a, generate_series(1, 720) n
    ON CONFLICT DO NOTHING;
    INSERT INTO storage_days (day, archives, archive_bytes, files, file_bytes)
    SELECT current_date - n, 100 - n, (100 - n) * 31000000::bigint, 90 - n, (90 - n) * (90 - n) * 400000::bigint
    FROM generate_series(0, 80) n
    ON CONFLICT (day) DO UPDATE SET archive_bytes = excluded.archive_bytes, file_bytes = excluded.file_bytes
"""


@dataclass
class FoundPages:
    """One path of each kind of page, by its name as a file."""

    paths: dict[str, str] = field(default_factory=dict)

    def add(self, path: str) -> bool:
        """Take a path; False where one of its kind is known."""
        name = name_of(path)
        if name in self.paths or _NOT_PAGES.search(path):
            return False
        self.paths[name] = path
        return True


def name_of(path: str) -> str:
    """The name of a page's picture: numbers in its path count as one, and of what is asked only the words stay."""
    parts = urlsplit(path)
    words = re.sub(r"\d+", "n", parts.path.strip("/")).replace("/", "-")
    asked = re.findall(r"\b(range|state|q)=(?!24h|7d)(\w+)", parts.query)
    return "-".join([_NAMED.get(words, words), *(value for _, value in asked)])


async def main() -> None:
    """Take every picture, and say how many there are."""
    reader = argparse.ArgumentParser(prog="./dev screenshots", description=__doc__.splitlines()[0] if __doc__ else "")
    reader.add_argument("folder", type=Path, help="where the PNG files go; made if missing")
    reader.add_argument("--only", default="", help="only pages whose name has this in it")
    asked = reader.parse_args()
    if not await asyncio.to_thread(_CHROMIUM.exists):
        sys.exit("Chromium is not installed here. On Debian: apt-get install chromium")
    await asyncio.to_thread(asked.folder.mkdir, parents=True, exist_ok=True)
    async with _demo() as said, async_playwright() as playwright:
        base, link = _found(_LINK, said).groups()
        browser = await playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        context = await _signed_in(browser, base, link)
        await _has_happened(context, base)
        await _add_sums(_found(_DATABASE, said)[1])
        pages = await _pages(context, base)
        wanted = {name: path for name, path in pages.paths.items() if asked.only in name}
        taken = await _pictures(context, base, wanted, asked.folder)
        await browser.close()
    print_line(f"{taken} pictures of {len(wanted)} pages are in {asked.folder}")


# The demo


@asynccontextmanager
async def _demo() -> AsyncIterator[str]:
    """A demo in a folder of its own, and what it said once it printed its link."""
    home = Path(tempfile.mkdtemp(prefix="tidegate-screenshots-"))
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PATH", "LC_", "LANG"))}
    process = await asyncio.create_subprocess_exec(
        _TIDEGATE, "demo", cwd=home, env={**kept, "HOME": str(home), "TIDEGATE_HOME": str(home), "COLUMNS": "200"},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    reading: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(_PATIENCE):
            said = await _until_ready(process)
        reading = asyncio.create_task(_read_on(process))
        yield said
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()
        if reading is not None:
            reading.cancel()
        await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)


async def _until_ready(process: Process) -> str:
    assert process.stderr is not None
    said = ""
    while not (_LINK.search(said) and _DATABASE.search(said)):
        line = await process.stderr.readline()
        if not line:
            sys.exit(f"The demo ended by itself:\n{said}")
        said += line.decode()
    return said


async def _read_on(process: Process) -> None:
    """Take what it says later, so that it never waits for a reader."""
    assert process.stderr is not None
    while await process.stderr.readline():
        pass


def _found(pattern: re.Pattern[str], said: str) -> re.Match[str]:
    found = pattern.search(said)
    assert found is not None
    return found


async def _has_happened(context: BrowserContext, base: str) -> None:
    """Wait until the demo has an archive, a failed one and a send to show."""
    page = await context.new_page()
    async with asyncio.timeout(_PATIENCE):
        for path, link in (
            ("/archives", "/archives/"),
            ("/archives?state=failed", "/archives/"),
            ("/activity", "/activity/"),
        ):
            while True:
                await page.goto(base + path)
                if await page.locator(f'main a[href*="{link}"]').count():
                    break
                await page.wait_for_timeout(1_000)
    await page.close()


async def _add_sums(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_SUMS)
    finally:
        await connection.close()


# The pages


async def _signed_in(browser: Browser, base: str, link: str) -> BrowserContext:
    context = await browser.new_context(timezone_id="Asia/Jakarta", locale="en-GB")
    page = await context.new_page()
    await page.goto(base + link)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_selector("#live.on")
    await page.close()
    return context


async def _pages(context: BrowserContext, base: str) -> FoundPages:
    """Follow links until no new kind of page appears."""
    found, page = FoundPages(), await context.new_page()
    waiting = ["/"]
    found.add("/")
    while waiting:
        path = waiting.pop(0)
        try:
            await page.goto(base + path)
        except Error:  # a download is no page
            found.paths = {name: known for name, known in found.paths.items() if known != path}
            continue
        links: list[str] = await page.eval_on_selector_all("a[href]:not([download])", "all => all.map(one => one.href)")
        own = [link.removeprefix(base).partition("#")[0] for link in links if link.startswith(base)]
        waiting += [link for link in own if found.add(link)]
    for path in _MORE:
        found.add(path)
    await page.close()
    return found


async def _pictures(context: BrowserContext, base: str, pages: Mapping[str, str], folder: Path) -> int:
    """Each page in each theme and width; a stranger sees the sign-in page."""
    browser, state, taken = context.browser, await context.storage_state(), 0
    assert browser is not None
    for theme in THEMES:
        for width in WIDTHS:
            view = _view(theme, width)
            own, strange = [await browser.new_context(**view, storage_state=one) for one in (state, None)]
            for name, path in pages.items():
                page = await (strange if path.startswith("/sign-in") else own).new_page()
                await page.goto(base + path)
                await _take(page, folder / f"{name}-{theme}-{width}.png", width)
                await page.close()
                taken += 1
            await asyncio.gather(own.close(), strange.close())
            print_line(f"{theme}, {width} pixels: done")
    return taken


def _view(theme: str, width: int) -> dict[str, Any]:
    size = {"width": width, "height": HEIGHTS[width]}
    return {"viewport": size, "timezone_id": "Asia/Jakarta", "locale": "en-GB", "color_scheme": theme}


async def _take(page: Page, file: Path, width: int) -> None:
    """The whole page as on a screen that is long enough, so that a menu at an edge hides nothing."""
    await _settled(page)
    height: int = await page.evaluate("document.documentElement.scrollHeight")
    await page.set_viewport_size({"width": width, "height": min(max(height, HEIGHTS[width]), _LONGEST)})
    await page.screenshot(path=file, full_page=True)
    wider: int = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wider > 0:
        print_line(f"{file.name}: {wider} pixels wider than the screen")


async def _settled(page: Page) -> None:
    """A page listens for news all the time: it is ready when everything it loads has come."""
    await page.wait_for_load_state("load")
    await page.wait_for_timeout(150)


if __name__ == "__main__":
    asyncio.run(main())
