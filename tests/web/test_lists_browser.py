"""Saved lists in a real browser: with the keyboard alone, on a desk and a phone, and beside the form of a reminder."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.web.browser_pages import pages
from tests.web.browsing import needs_browser
from tests.web.hostile_words import HOSTILE
from tests.web.reminder_client import GROUPS
from tidegate.database.pool import Database
from tidegate.reminders.queries import target_lists

pytestmark = needs_browser


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
        {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    ],
    ids=["desktop-light", "phone-dark"],
)
async def test_a_list_is_made_and_filled_with_the_keyboard_alone(
    database: Database, options: dict[str, object]
) -> None:
    """Named, searched, ticked, put on it, all found at once, taken off; axe finds nothing, nothing is too wide."""
    await database.pool.execute(GROUPS)
    await database.pool.execute("UPDATE channels SET title = $1 WHERE number = 3", f"Group {HOSTILE}")
    async with pages(database, **options) as watched:
        page = watched.page
        await watched.go("/reminders")
        await page.get_by_role("link", name="Groups & lists", exact=True).first.press("Enter")
        await page.get_by_label("Name").fill("shops")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("shops: 0 groups")
        await page.get_by_label("Name contains").fill("group")
        await page.keyboard.press("Enter")
        await page.get_by_role("checkbox", name="Group 2").press("Space")
        await page.get_by_role("button", name="Add selected (1)", exact=True).press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("shops: 1 group")
        assert await watched.problems() == []
        await page.get_by_role("button", name="Add all 2").press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("shops: 3 groups")
        for path in ("/reminders/lists", "/reminders/lists/1?on_it=true"):
            await watched.go(path)
            assert await watched.problems() == [], path
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await page.evaluate(wide) <= 0, path
        await page.get_by_role("checkbox", name="Group 1").press("Space")
        await page.get_by_role("button", name="Remove selected").press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("shops: 2 groups")


async def test_a_list_made_elsewhere_can_be_chosen_at_once(database: Database) -> None:
    """While a reminder is being written, what was typed stays, and so does the list that was chosen."""
    await database.pool.execute(GROUPS)
    async with database.transaction() as connection:
        await target_lists.add(connection, "shops")
    async with pages(database) as watched:
        await watched.go("/reminders/new")
        await watched.page.get_by_label("Name of the reminder").fill("Friday stock")
        await watched.page.get_by_label("A list of groups").check()
        await watched.page.get_by_label("Which list").select_option("shops")
        async with database.transaction() as connection:
            await target_lists.add(connection, "branches")
        await expect(watched.page.get_by_label("Which list").locator("option:enabled")).to_have_count(2)
        await expect(watched.page.get_by_label("Which list")).to_have_value("shops")
        await expect(watched.page.get_by_label("Name of the reminder")).to_have_value("Friday stock")
        assert await watched.problems() == []
