"""The form of a reminder in a real browser: what can be seen and changed on it is what is saved."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.web.browser_pages import pages
from tests.web.browsing import needs_browser
from tests.web.reminder_client import GROUPS
from tidegate.database.pool import Database

pytestmark = needs_browser


@pytest.mark.parametrize("width", [1280, 390])
async def test_only_the_choice_that_is_taken_can_be_filled_in(database: Database, width: int) -> None:
    """One group is ticked and "All" chosen after that: the groups are hidden, and the review says that all get it.
    A date can be given once "once" is chosen."""
    await database.pool.execute(GROUPS)
    async with pages(database, viewport={"width": width, "height": 900}) as watched:
        page = watched.page
        await watched.go("/reminders/new")
        await page.get_by_label("Name of the reminder").fill("Market day")
        await page.get_by_label("Message (or caption)").fill("Good morning {group}")
        await page.get_by_role("checkbox", name="Group 2").check()
        await expect(page.get_by_text("1 of 3 selected")).to_be_visible()
        for hidden in ("#at", "#saved-list", "#weekday", "#cron"):
            await expect(page.locator(hidden)).to_be_disabled()
            await expect(page.locator(hidden)).to_be_hidden()
        await page.get_by_role("button", name="{date}").click()
        await expect(page.get_by_label("Message (or caption)")).to_have_value("Good morning {group}{date}")
        await expect(page.get_by_text("26 of 4,096 characters (Telegram)")).to_be_visible()
        await page.get_by_label("All groups this account can post in").check()
        await expect(page.locator("[name=group]").first).to_be_disabled()
        await expect(page.locator("#groups")).to_be_hidden()
        assert await watched.problems() == []
        assert await watched.too_wide() == 0
        await page.get_by_label("Once", exact=True).check()
        await page.get_by_label("On", exact=True).fill("2030-12-01T09:00")
        await page.get_by_role("button", name="Review").click()
        said = "Once, on Sunday, 1 December 2030 at 09:00 (Asia/Tokyo) to all 3 groups from shop"
        await expect(page.get_by_text(said)).to_be_visible()
        assert await watched.problems() == []
        await page.get_by_role("button", name="Back to edit").click()
        await page.get_by_label("Selected groups", exact=True).check()
        await page.get_by_role("checkbox", name="Group 2").check()
        await page.get_by_role("button", name="Review").click()
        await page.get_by_role("button", name="Save reminder").click()
        await expect(page.get_by_role("cell", name="1 group")).to_be_visible()


async def test_a_button_that_changes_its_word_keeps_the_focus(database: Database) -> None:
    """ "Pause" becomes "Resume" when the list is loaded anew, and a keyboard goes on from there."""
    await database.pool.execute(GROUPS)
    async with pages(database) as watched:
        await watched.go("/accounts")
        for before, after in [("Pause", "Resume"), ("Resume", "Pause")]:
            await watched.page.get_by_role("button", name=before).press("Enter")
            await expect(watched.page.get_by_role("button", name=after)).to_be_focused()
            # A press within 20 ms, before htmx knows the new button, would send the form as without a script.
            await expect(watched.page.locator(".htmx-request, .htmx-added, .htmx-settling")).to_have_count(0)


async def test_firing_after_the_delivery_hours_asks_first(database: Database) -> None:
    """The times are shown, nothing is fired by the first click, and cancelling leads back."""
    await database.pool.execute(GROUPS)
    now = await database.pool.fetchval("SELECT extract(hour FROM clock_now() AT TIME ZONE 'UTC')::int")
    zone = next(f"Etc/GMT{shift:+d}" for shift in range(-14, 13) if (now - shift) % 24 == 12)
    async with pages(database, viewport={"width": 1280, "height": 900}) as watched:
        page = watched.page
        await watched.go("/reminders/new")
        await page.get_by_label("Name of the reminder").fill("Market day")
        await page.get_by_label("Message (or caption)").fill("Good morning {group}")
        await page.get_by_label("All groups this account can post in").check()
        await page.get_by_label("Manual").check()
        await page.get_by_label("From", exact=True).select_option("00:00")
        await page.get_by_label("To", exact=True).select_option("01:00")
        await page.get_by_label("Time zone").fill(zone)
        await page.get_by_role("button", name="Review").click()
        await page.get_by_role("button", name="Save reminder").click()
        await page.get_by_role("link", name="Send now").click()
        await expect(page.get_by_role("heading", name="to 3 groups now?")).to_be_visible()
        await expect(page.get_by_text("outside the delivery hours")).to_be_visible()
        assert await watched.problems() == []
        assert await database.pool.fetchval("SELECT count(*) FROM runs") == 0
        await page.get_by_role("link", name="Cancel").click()
        await page.get_by_role("link", name="Send now").click()
        await page.get_by_role("button", name="Send at 00:00").click()
        await expect(page.get_by_text("Waiting").first).to_be_visible()
