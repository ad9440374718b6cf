"""Forms in a browser: nothing typed is left by mistake, what is refused is said at its field, pickers are searched."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from playwright.async_api import Dialog, Page, expect

from tests.recorded_events import can_be_told
from tests.web.browser_pages import pages
from tests.web.browsing import needs_browser
from tests.web.reminder_client import GROUPS
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Database
from tidegate.events.kinds.lanes import LanePaused
from tidegate.events.queries import feed
from tidegate.reminders.queries import target_lists

pytestmark = needs_browser

TYPED_INTO = (
    ("/accounts", "Name in Tidegate"),
    ("/accounts/1", "Name in Tidegate"),
    ("/accounts/1", "Proxy"),
    ("/settings", "Name"),
    ("/settings", "New password"),
    ("/storage", "Largest file"),
    ("/reminders/new", "Name of the reminder"),
    ("/reminders/lists", "Name"),
    ("/reminders/lists/1", "Name of the list"),
    ("/channels/1/options", "How many messages?"),
)


async def asks(page: Page) -> bool:
    """Whether leaving the page asks first."""
    left: bool = await page.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    return not left


async def test_leaving_typed_text_asks_first(database: Database) -> None:
    """On every form that text is typed into, until it was sent; nothing asks before something was typed."""
    await database.pool.execute(GROUPS)
    await database.pool.execute("UPDATE channels SET enabled = true, in_full = true, reader = 1")
    async with database.transaction() as connection:
        await target_lists.add(connection, "shops")
    async with pages(database) as watched:
        page = watched.page
        page.on("dialog", lambda dialog: dialog.accept())
        for path, label in TYPED_INTO:
            await watched.go(path)
            assert not await asks(page), path
            await page.locator("main input").and_(page.get_by_label(label, exact=True)).fill("7")
            assert await asks(page), path
        await page.get_by_role("button", name="Load", exact=True).click()
        await expect(page.get_by_text("are being loaded")).to_be_visible()
        assert not await asks(page)


async def test_a_refused_value_is_said_at_its_field(database: Database) -> None:
    """The field is marked, has the focus and what was typed, and is described by the sentence, with script or without;
    a value that is taken ends that."""
    await database.pool.execute(GROUPS)
    async with database.transaction() as connection:
        await target_lists.add(connection, "shops")
    async with pages(database) as watched:
        page = watched.page
        await watched.go("/storage")
        limit = page.get_by_label("Limit for all files")
        await limit.fill("much")
        await page.get_by_role("button", name="Save limit").click()
        await expect(page.get_by_role("alert")).to_have_text('"much" is not a size. Write one such as 20MB or 4GB.')
        await expect(limit).to_have_attribute("aria-invalid", "true")
        await expect(limit).to_have_accessible_description(re.compile("is not a size"))
        await expect(limit).to_be_focused()
        await expect(limit).to_have_value("much")
        assert await asks(page)
        await limit.fill("5GB")
        await page.get_by_role("button", name="Save limit").click()
        await expect(page.get_by_text("5.0 GB").first).to_be_visible()
        assert await limit.get_attribute("aria-invalid") is None
        assert not await asks(page)
        await watched.go("/reminders/lists")
        await page.get_by_label("Name", exact=True).fill("shops")
        await page.get_by_role("button", name="Create list").click()
        name = page.get_by_label("Name", exact=True)
        await expect(name).to_have_attribute("aria-invalid", "true")
        await expect(name).to_be_focused()
        await expect(name).to_have_value("shops")
        await expect(page.get_by_role("alert")).to_contain_text("shops")
        assert await asks(page)


async def test_a_long_picker_is_searched(database: Database) -> None:
    """By a part of a name; what is chosen stays, how many are left is said, and Enter sends no form."""
    await database.pool.execute(GROUPS)
    await database.pool.execute(
        "INSERT INTO accounts (name, platform) SELECT 'Shop ' || n, 'whatsapp' FROM generate_series(1, 12) n"
    )
    async with pages(database) as watched:
        page = watched.page
        await watched.go("/reminders/new")
        finder, picker = page.get_by_label("Filter accounts"), page.get_by_label("Send from")
        chosen = await picker.input_value()
        await finder.fill("shop 1")
        await finder.press("Enter")
        await expect(page.get_by_text("4 found")).to_have_count(1)
        left = await picker.locator("option:enabled").all_inner_texts()
        assert {text.split(" (")[0] for text in left} == {"Shop 1", "Shop 10", "Shop 11", "Shop 12", chosen}
        assert await picker.input_value() == chosen
        await picker.select_option("Shop 12")
        await finder.fill("")
        assert await picker.locator("option:enabled").count() == 13
        assert await picker.input_value() == "Shop 12"
        assert await watched.problems() == []
        plain = await (await page.request.get(f"{watched.base}/reminders/new")).text()
        assert 'id="account-filter"' in plain
        [written] = [part.split(">")[0] for part in plain.split("<input ") if 'id="account-filter"' in part]
        assert written.endswith("hidden")  # until the script shows it


async def test_emptying_a_list_asks_first(database: Database) -> None:
    """Who says no keeps every group."""
    await database.pool.execute(GROUPS)
    async with database.transaction() as connection:
        saved = await target_lists.add(connection, "shops")
        await target_lists.put(connection, saved, [ChannelKey(number) for number in (1, 2, 3)])
    asked = list[str]()
    async with pages(database) as watched:
        page = watched.page

        async def say_no_once(dialog: Dialog) -> None:
            asked.append(dialog.message)
            await (dialog.accept() if len(asked) > 1 else dialog.dismiss())

        page.on("dialog", say_no_once)
        await watched.go(f"/reminders/lists/{saved}?on_it=true")
        await page.get_by_role("button", name="Remove all 3").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("shops: 3 groups")
        assert asked == ['Remove 3 groups from "shops"?']
        await page.get_by_role("button", name="Remove all 3").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("shops: 0 groups")


async def test_a_time_is_seen_in_the_readers_zone_from_the_first_moment_on(database: Database) -> None:
    """Until the page's script has changed it, it is not seen; without the script it appears a little later."""
    await database.pool.execute(GROUPS)
    async with database.transaction() as connection:
        await target_lists.add(connection, "shops")
    await can_be_told(database)
    async with pages(database) as watched:
        page, time = watched.page, watched.page.locator("ul.feed time").first
        await watched.go("/log")
        assert await time.evaluate("one => getComputedStyle(one).animationName") == "none"
        await page.route("**/tidegate.js*", lambda route: route.abort())
        await page.goto(f"{watched.base}/log")
        assert await time.evaluate("one => getComputedStyle(one).animationName") == "appear"
        await expect(time).to_be_visible()
        await expect(time).to_contain_text("UTC")


async def test_no_time_is_shown_in_utc_also_after_a_live_change(database: Database) -> None:
    """Neither when an event happened nor a time within its words, not even for a moment."""
    await database.pool.execute(GROUPS)
    told = LanePaused(scope="account", key="", until=datetime(2030, 3, 1, 12, tzinfo=UTC), why="Telegram asked")
    async with pages(database) as watched:
        page = watched.page
        await watched.go("/")
        await page.evaluate(
            """() => {
                window.utc = [];
                const look = () => document.getElementById("feed").innerText.includes("UTC") && window.utc.push("UTC");
                new MutationObserver(look).observe(document.getElementById("feed"), { childList: true, subtree: true });
                look();
            }"""
        )
        async with database.transaction() as connection:
            await feed.record(connection, "shop", told)
        await can_be_told(database)
        await expect(page.locator("#feed")).to_contain_text("Telegram asked")
        await expect(page.locator("#feed")).to_contain_text("until 1 Mar 2030, 21:00")
        assert await page.evaluate("window.utc") == []
        title = await page.locator("#feed time").last.get_attribute("title")
        assert title is not None
        assert "UTC" in title
