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
from playwright.async_api import Page, expect

from tests.cli.program import running
from tests.cli.test_account import ask, line, tell
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
    async with running("serve", home=home, TIDEGATE_WEB_PORT="0", TIDEGATE_MAX_SEND_PER_MINUTE="20") as process:
        link = ""
        while "once=" not in link:
            link = await line(process.stderr)
        link = link.split()[-1]
        async with browsing(link.partition("/sign-in")[0], link) as opened:
            yield opened


async def begin_adding(watched: Watched, control: str, platform: str, name: str, *, phone: str = "") -> None:
    await watched.go("/accounts")
    await watched.page.get_by_role("radio", name=platform).check()
    await watched.page.get_by_role("textbox", name="Phone number").fill(phone)
    await watched.page.get_by_label("What you call it").fill(name)
    await watched.page.get_by_label("Loopback platform").fill(control)
    await watched.page.get_by_role("button", name="Sign it in").click()


async def answer(watched: Watched, question: str, text: str) -> None:
    await watched.page.get_by_label(question, exact=True).fill(text)
    await watched.page.get_by_role("button", name="Go on").click()


async def add_telegram(watched: Watched, control: str, name: str) -> None:
    await begin_adding(watched, control, "Telegram", name)
    await answer(watched, "Phone number", PHONE)
    await expect(watched.page.get_by_label("Code", exact=True)).to_be_visible()
    code = (await asyncio.to_thread(ask, f"{control}/telegram/code?phone={quote(PHONE)}"))["code"]
    await answer(watched, "Code", code)
    await expect(watched.page.get_by_text(f'"{name}" is signed in')).to_be_visible()


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


async def test_a_whatsapp_account_is_linked_by_the_picture_on_the_page(watched: Watched, control: str) -> None:
    """The code is a picture that a phone can scan; once it has, the account is there."""
    await begin_adding(watched, control, "WhatsApp", "shop")
    await expect(watched.page.get_by_role("img", name="QR code")).to_be_visible(timeout=SOON)
    assert tell(f"{control}/whatsapp/pair", phone="Shop") is not None
    await expect(watched.page.get_by_text('"shop" is signed in as +6281200000001')).to_be_visible(timeout=SOON)


async def type_shown_code(watched: Watched, control: str) -> None:
    """Do what the page says: type its code, and no other, into the phone of that number."""
    shown = watched.page.locator(".to-type")
    await expect(shown).to_have_text(re.compile(r"^\w{4}-\w{4}$"), timeout=SOON)
    await expect(watched.page.get_by_role("img", name="QR code")).to_have_count(0)
    assert await watched.problems() == []
    assert tell(f"{control}/whatsapp/pair", code=await shown.inner_text()) is not None
    await expect(watched.page.get_by_text('"shop" is signed in as +6281200000001')).to_be_visible(timeout=SOON)


async def test_a_whatsapp_account_is_linked_by_a_code_that_is_typed(watched: Watched, control: str) -> None:
    """With a phone number the page shows a code in place of the picture, at first and when it was signed out."""
    page = watched.page
    await begin_adding(watched, control, "WhatsApp", "shop", phone="+62 812 0000 0001")
    await type_shown_code(watched, control)
    await page.get_by_role("link", name="To the accounts").click()
    await expect(page.get_by_role("row").filter(has_text="shop")).not_to_contain_text("nobody", timeout=SOON)

    tell(f"{control}/whatsapp/change", account="+6281200000001", signed_out=True)
    await page.get_by_role("link", name="Type a code instead").click(timeout=SOON)
    await page.get_by_label("Phone number").fill("+62 812 0000 0001")
    assert await watched.problems() == []
    await page.get_by_role("button", name="Show the code").click()
    await type_shown_code(watched, control)


NOTIFIED = """
window.notified = JSON.parse(sessionStorage.getItem("notified") || "[]");
window.Notification = class {
  static permission = "granted";
  constructor(title, { body }) {
    window.notified.push(`${title}: ${body}`);
    sessionStorage.setItem("notified", JSON.stringify(window.notified));
  }
};
"""
"""A browser without a screen has nowhere to show a notification, so it is written down."""


async def write(page: Page, picture: Path) -> None:
    """Two messages, one with a picture, to every group there is, whenever it is fired, at any hour."""
    await page.get_by_label("Name of the reminder").fill("Friday stock")
    await page.get_by_label("Text, or the caption of a file").fill("Good morning {group}")
    await page.get_by_label("Picture, video or document").set_input_files(picture)
    await expect(page.locator("[data-file]").first).to_have_text("poster.png")
    await page.get_by_role("button", name="Another message").click()
    await page.get_by_label("Text, or the caption of a file").last.fill("See you on Friday")
    await page.get_by_label("Find among them").fill("dragon")
    await expect(page.locator("#groups label:visible")).to_have_count(1)
    await page.get_by_label("Find among them").fill("")
    for group in await page.locator("#groups input").all():
        await group.check()
    await page.get_by_label("when I fire it").check()
    await page.get_by_label("From", exact=True).select_option("00:00")
    await page.get_by_label("To", exact=True).select_option("24:00")


async def test_a_reminder_with_a_picture_is_written_followed_and_delivered(
    watched: Watched, control: str, home: Path
) -> None:
    """Written and reviewed on the page; the bar moves, a pause holds it, and the end is told in a notification."""
    page = watched.page
    await page.add_init_script(NOTIFIED)
    await add_telegram(watched, control, "ada")
    await watched.go("/accounts")
    await page.get_by_role("button", name="List its channels").click()
    picture = home / "poster.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(2_000))

    async def groups_are_known() -> bool:
        await watched.go("/reminders/new")
        return await page.locator("#groups input").count() >= 3

    async with asyncio.timeout(SOON / 1_000):
        while not await groups_are_known():
            await asyncio.sleep(0.2)
    assert await watched.problems() == []
    await write(page, picture)
    await page.get_by_role("button", name="4. Review").click()
    await expect(page.get_by_text("3 groups, 2 messages each: 6 sends")).to_be_visible()
    await expect(page.get_by_text("Good morning Dragon Hoard")).to_be_visible()
    assert await watched.problems() == []
    await page.get_by_role("button", name="Keep it").click()

    page.on("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Fire now").click()
    await page.wait_for_url("**/activity/*")
    bar = page.locator("progress.full")
    await expect(bar).not_to_have_attribute("value", "0", timeout=SOON)
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert await watched.problems() == []
    await page.get_by_role("button", name="Resume").click()
    await expect(page.locator("#run .badge").first).to_have_text("success", timeout=SOON)
    await expect(bar).to_have_attribute("value", "3")
    async with asyncio.timeout(SOON / 1_000):
        while not await page.evaluate("window.notified"):
            await asyncio.sleep(0.1)
    assert await page.evaluate("window.notified") == ["Friday stock: 3 of 3 delivered"]
    await watched.go("/activity")
    assert await watched.problems() == []
    sends = await asyncio.to_thread(ask, f"{control}/sends")
    assert len(sends) == 6
    assert len(await asyncio.to_thread(ask, f"{control}/uploads")) == 1
