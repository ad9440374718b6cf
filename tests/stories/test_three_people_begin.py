"""Story: three people start an empty Tidegate, and each reaches what they came for on the pages alone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from playwright.async_api import Page, expect

from tests.cli.account_commands import ask
from tests.stories.first_day import FirstDay, first_day
from tests.waiting import until
from tests.web.acts import answer
from tests.web.browsing import Watched, browsing, needs_browser
from tidegate.database.pool import Address, Database
from tidegate.loopback.telegram.world.pictures import photo_sizes

pytestmark = needs_browser

SHOP = {
    "seed": 1,
    "whatsapp": {
        "phones": [{"phone": "+6281200000001", "name": "Shop"}],
        "groups": [{"name": "Customers", "count": 80}, {"name": "Family", "count": 3}],
    },
}
COLLECTION = {
    "seed": 1,
    "telegram": {
        "accounts": [{"phone": "+1000001", "name": "Ada", "password": "spring tide"}],
        "channels": [
            {"title": "Dragon Hoard", "kind": "channel", "messages": 40, "files": 2},
            {"title": "Workshop News", "kind": "channel", "messages": 20},
            {"title": "Small Talk", "kind": "channel", "messages": 5},
        ],
    },
}
SERVER = {
    "seed": 1,
    "discord": {
        "bots": [{"name": "Tidebot", "intents": ["message_content"]}],
        "guilds": [
            {
                "name": "Harbour",
                "permissions": ["VIEW_CHANNEL", "READ_MESSAGE_HISTORY"],
                "channels": [{"name": "general", "messages": 30}, {"name": "ideas", "messages": 10}],
            }
        ],
    },
}
TOKYO = ZoneInfo("Asia/Tokyo")
"""Where the browser is."""

FOCUSED = """() => {
  const one = document.activeElement;
  return (one.labels?.[0] ?? one).innerText?.trim() || one.getAttribute("aria-label") || "";
}"""
"""The name of what has the focus."""


async def test_a_shop_owner_sends_a_picture_to_eighty_groups_tomorrow_at_nine(
    test_folder: Path, address: Address, database: Database
) -> None:
    """Connects a number by scanning, chooses 80 of 83 groups, and reads in words who gets what when."""
    async with (
        first_day(test_folder / "shop", address, SHOP) as day,
        browsing(day.base, day.link, viewport={"width": 1280, "height": 900}) as watched,
    ):
        page = watched.page
        await expect(page.get_by_role("heading", name="Welcome to Tidegate")).to_be_visible()
        assert await watched.problems() == []
        await page.get_by_role("link", name="Connect an account").click()
        await connect(watched, day, "WhatsApp", "shop")
        await expect(page.get_by_role("img", name="QR code")).to_be_visible()
        await expect(page.get_by_text("A new code appears in")).to_be_visible()
        assert await watched.problems() == []
        day.scan()
        await expect(page.get_by_text("83 groups found")).to_be_visible()
        assert await watched.problems() == []
        await page.get_by_role("link", name="Write a reminder").click()

        picture = day.home / "poster.png"
        picture.write_bytes(photo_sizes("market")["y"])
        await page.get_by_label("Name of the reminder").fill("Market day")
        await page.get_by_label("Message (or caption)").fill("See you at the market,\n{group}")
        await page.get_by_label("Attachment").set_input_files(picture)
        await page.get_by_label("Filter groups").fill("customers")
        await page.get_by_role("button", name="Select all shown").click()
        await expect(page.get_by_text("80 of 83 selected")).to_be_visible()
        await page.get_by_label("Once", exact=True).check()
        await page.get_by_role("button", name="Tomorrow 09:00").click()
        assert await watched.problems() == []
        await page.get_by_role("button", name="Review").click()
        tomorrow = datetime.now(TOKYO).date() + timedelta(days=1)
        said = f"{tomorrow:%A}, {tomorrow.day} {tomorrow:%B %Y} at 09:00 (Asia/Tokyo) to 80 groups from shop"
        await expect(page.get_by_text(said)).to_be_visible()
        await expect(page.get_by_alt_text("Picture poster.png")).to_be_visible()
        await expect(page.get_by_text("Can be delivered in time")).to_be_visible()
        assert await watched.problems() == []
        await page.get_by_role("button", name="Save reminder").click()
        await expect(page.get_by_text("Saved Market day")).to_be_visible()
        assert await watched.problems() == []

    due_at = await database.pool.fetchval("SELECT due_at FROM reminders")
    assert due_at == datetime(tomorrow.year, tomorrow.month, tomorrow.day, 9, tzinfo=TOKYO)
    assert await database.pool.fetchval("SELECT count(*) FROM reminder_targets") == 80


async def test_a_collector_copies_two_channels_and_finds_a_message(
    test_folder: Path, address: Address, database: Database
) -> None:
    """Signs in to Telegram with two slips, which are asked again, mirrors two of three channels, and searches."""
    async with (
        first_day(test_folder / "collector", address, COLLECTION) as day,
        browsing(day.base, day.link, viewport={"width": 390, "height": 844}) as watched,
    ):
        page = watched.page
        await page.get_by_role("link", name="Connect an account").click()
        await connect(watched, day, "Telegram", "ada")
        await answer(watched, "Phone number", "+1000009")
        await expect(page.get_by_role("alert")).to_contain_text("Telegram has no account with the number +1000009")
        await expect(page.get_by_label("Phone number")).to_have_value("+1000009")
        await answer(watched, "Phone number", "+1000001")
        await answer(watched, "Code", "00000")
        await expect(page.get_by_role("alert")).to_contain_text("not the code")
        assert await watched.problems() == []
        await answer(watched, "Code", ask(f"{day.control}/telegram/code?phone=%2B1000001")["code"])
        await answer(watched, "Password", "spring tide")
        await expect(page.get_by_text("3 channels and groups found")).to_be_visible()
        await page.get_by_role("link", name="Choose channels").click()
        for title in ("Dragon Hoard", "Workshop News"):
            await page.get_by_role("checkbox", name=f"Select {title}").check()
        await page.get_by_role("button", name="Mirror selected").click()
        await expect(page.get_by_role("heading", name="Mirror 2 channels?")).to_be_visible()
        assert await watched.problems() == []
        await page.get_by_role("button", name="Mirror 2 channels").click()

        async def is_copied() -> bool:
            return bool(await database.pool.fetchval("SELECT count(*) >= 60 FROM messages"))

        await until(is_copied)
        await watched.go("/")
        await expect(page.get_by_text("2 of 2 channels")).to_be_visible()
        await expect(page.get_by_role("heading", name="Finish setting up")).to_have_count(0)
        await page.get_by_role("navigation", name="Main pages").get_by_role("link", name="Search").click()
        await page.get_by_label("Search messages and files").fill('"message 17 of dragon hoard"')
        await page.keyboard.press("Enter")
        await page.get_by_role("link", name="Show in channel").click()
        await expect(page.locator("li:target")).to_contain_text("Message 17 of Dragon Hoard")
        assert await watched.problems() == []
        assert await watched.too_wide() == 0


async def test_the_owner_of_a_server_copies_it_by_keyboard_alone(
    test_folder: Path, address: Address, database: Database
) -> None:
    """Connects a bot, keeps one of its channels, and opens what was found there, without a mouse."""
    async with (
        first_day(test_folder / "server", address, SERVER) as day,
        browsing(day.base, day.link, viewport={"width": 1280, "height": 900}) as watched,
    ):
        page = watched.page
        await press(page, "Connect an account")
        await expect(page.get_by_role("heading", name="Accounts", level=1)).to_be_visible()
        await go_to(page, "Telegram")
        await page.keyboard.press("ArrowRight")
        await type_into(page, "Name in Tidegate", "bot")
        await press(page, "Advanced: proxy, test platform")
        await type_into(page, "Test platform", day.control)
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Bot token")).to_be_focused()
        await page.keyboard.type("not a token")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_label("Bot token")).to_be_focused()
        await page.keyboard.type(ask(f"{day.control}/discord/token")["token"])
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("channels and groups found")).to_be_visible()
        assert await watched.problems() == []
        await press(page, "Choose channels")
        await expect(page.get_by_role("heading", name="Channels", level=1)).to_be_visible()
        await go_to(page, re.compile("^Select .*ideas"))  # a bot's channels are mirrored at once; this one shall not be
        await page.keyboard.press("Space")
        await press(page, "Stop mirroring selected", backwards=True)
        await expect(page.get_by_role("heading", name="Stop mirroring 1 channel?")).to_be_visible()
        await press(page, "Stop mirroring 1 channel")
        await expect(page.get_by_role("heading", name="Channels", level=1)).to_be_visible()

        async def is_copied() -> bool:
            return bool(await database.pool.fetchval("SELECT count(*) >= 30 FROM messages"))

        await until(is_copied)
        await press(page, "Search")
        await expect(page.get_by_role("heading", name="Search", level=1)).to_be_visible()
        await page.keyboard.press("/")
        await page.keyboard.type("message")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Harbour").first).to_be_visible()
        await press(page, "Show in channel")
        await expect(page.locator("li:target")).to_be_visible()
        assert await watched.problems() == []
    mirrored = await database.pool.fetch("SELECT title FROM channels WHERE enabled")
    assert [row["title"] for row in mirrored] == ["general"]


async def go_to(page: Page, name: str | re.Pattern[str], *, backwards: bool = False) -> None:
    """Press Tab until what has that name has the focus."""
    for _ in range(150):
        await page.keyboard.press("Shift+Tab" if backwards else "Tab")
        focused = await page.evaluate(FOCUSED)
        if focused.startswith(name) if isinstance(name, str) else name.search(focused):
            return
    raise AssertionError(f"the Tab key does not lead to {name}")


async def press(page: Page, name: str | re.Pattern[str], *, backwards: bool = False) -> None:
    await go_to(page, name, backwards=backwards)
    await page.keyboard.press("Enter")


async def type_into(page: Page, name: str, text: str) -> None:
    await go_to(page, name)
    await page.keyboard.type(text)


async def connect(watched: Watched, day: FirstDay, platform: str, name: str) -> None:
    """Fill in the form of a new account and send it."""
    page = watched.page
    await page.get_by_role("radio", name=platform).check()
    await page.get_by_label("Name in Tidegate").fill(name)
    await page.get_by_text("Advanced: proxy, test platform").click()
    await page.get_by_label("Test platform").fill(day.control)
    await page.get_by_role("button", name="Connect account").click()
