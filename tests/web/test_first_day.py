"""An operator's first day in the browser: a real service and real client libraries against the loopback platforms."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import expect

from tests.cli.test_account import ask, line, running, tell
from tests.servers import make_home
from tests.web.browsing import Watched, browsing, needs_browser

pytestmark = needs_browser

PHONE = "+10000000001"
SOON = 60_000
_numbers = itertools.count()


@pytest.fixture
def home(test_folder: Path) -> Path:
    return make_home(test_folder / f"b{os.getpid()}-{next(_numbers)}")


@pytest.fixture
async def control(home: Path) -> AsyncIterator[str]:
    async with running("loopback", home=home) as process:
        yield json.loads(await line(process.stdout))["control"]


@pytest.fixture
async def watched(home: Path, control: str) -> AsyncIterator[Watched]:
    """A browser that signed in with the link that `tidegate serve` printed at its first start."""
    async with running("serve", home=home, TIDEGATE_WEB_PORT="0") as process:
        link = ""
        while "once=" not in link:
            link = await line(process.stderr)
        link = link.split()[-1]
        async with browsing(link.partition("/sign-in")[0], link) as opened:
            yield opened


async def begin_adding(watched: Watched, control: str, platform: str, name: str) -> None:
    await watched.go("/accounts")
    await watched.page.get_by_label(platform).check()
    await watched.page.get_by_label("What you call it").fill(name)
    await watched.page.get_by_label("Loopback platform").fill(control)
    await watched.page.get_by_role("button", name="Sign it in").click()


async def answer(watched: Watched, question: str, text: str) -> None:
    await watched.page.get_by_label(question, exact=True).fill(text)
    await watched.page.get_by_role("button", name="Go on").click()


async def test_accounts_are_signed_in_on_the_page(watched: Watched, control: str) -> None:
    """Telegram asks for phone and code, and once more after a wrong one; Discord for a token, which it checks."""
    page = watched.page
    await begin_adding(watched, control, "Telegram", "ada")
    await answer(watched, "Phone number", PHONE)
    await expect(page.get_by_label("Code", exact=True)).to_be_visible()
    assert await watched.problems() == []
    await answer(watched, "Code", "00000")
    await expect(page.get_by_role("alert")).to_have_text(re.compile("."))
    code = (await asyncio.to_thread(ask, f"{control}/telegram/code?phone={quote(PHONE)}"))["code"]
    await answer(watched, "Code", code)
    await expect(page.get_by_text('"ada" is signed in as Ada')).to_be_visible()

    await begin_adding(watched, control, "Discord", "bot")
    await answer(watched, "Bot token", "not a token")
    await expect(page.get_by_text("Begin again")).to_be_visible()
    await begin_adding(watched, control, "Discord", "bot")
    token = (await asyncio.to_thread(ask, f"{control}/discord/token"))["token"]
    await answer(watched, "Bot token", token)
    await expect(page.get_by_text('"bot" is signed in')).to_be_visible()
    assert await watched.problems() == []

    await page.get_by_role("link", name="To the accounts").click()
    for name in ("ada", "bot"):
        row = page.get_by_role("row").filter(has_text=name)
        await expect(row).not_to_contain_text("nobody", timeout=SOON)
        await expect(row).not_to_contain_text("none yet", timeout=SOON)
    await watched.go("/")
    await expect(page.locator("#feed")).to_contain_text("cycle ended")
    assert await watched.problems() == []


async def test_a_whatsapp_account_is_linked_by_the_code_on_the_page(watched: Watched, control: str) -> None:
    """The code is a picture that a phone can scan; once it has, the account is there."""
    await begin_adding(watched, control, "WhatsApp", "shop")
    await expect(watched.page.get_by_role("img", name="QR code")).to_be_visible(timeout=SOON)
    assert tell(f"{control}/whatsapp/pair", phone="Shop") is not None
    await expect(watched.page.get_by_text('"shop" is signed in as +6281200000001')).to_be_visible(timeout=SOON)
