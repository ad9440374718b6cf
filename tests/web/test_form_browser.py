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
    """One group is ticked and "All" chosen after that: the groups are greyed out, and the review says that all get it.
    A date can be given once "once" is chosen."""
    await database.pool.execute(GROUPS)
    async with pages(database, viewport={"width": width, "height": 900}) as watched:
        page = watched.page
        await watched.go("/reminders/new")
        await page.get_by_label("Name of the reminder").fill("Market day")
        await page.get_by_label("Text, or the caption of a file").fill("Good morning {group}")
        await page.get_by_role("checkbox", name="Group 2").check()
        await expect(page.get_by_label("On", exact=True)).to_be_disabled()
        await expect(page.get_by_label("Which list")).to_be_disabled()
        await expect(page.get_by_label("Weekday", exact=True)).to_be_disabled()
        await page.get_by_label("All groups it may write to").check()
        await expect(page.get_by_role("checkbox", name="Group 2")).to_be_disabled()
        assert await watched.problems() == []
        assert await watched.too_wide() == 0
        await page.get_by_label("once", exact=True).check()
        await page.get_by_label("On", exact=True).fill("2030-12-01T09:00")
        await page.get_by_role("button", name="Review").click()
        await expect(page.get_by_text("All groups it may write to")).to_be_visible()
        await expect(page.get_by_text("once, on 2030-12-01 at 09:00")).to_be_visible()
        assert await watched.problems() == []
        await page.get_by_role("button", name="Change something").click()
        await page.get_by_label("These", exact=True).check()
        await page.get_by_role("checkbox", name="Group 2").check()
        await page.get_by_role("button", name="Review").click()
        await page.get_by_role("button", name="Keep it").click()
        await expect(page.get_by_role("cell", name="1 group")).to_be_visible()


async def test_firing_after_the_delivery_hours_asks_first(database: Database) -> None:
    """The times are shown, nothing is fired by the first click, and cancelling leads back."""
    await database.pool.execute(GROUPS)
    now = await database.pool.fetchval("SELECT extract(hour FROM clock_now() AT TIME ZONE 'UTC')::int")
    zone = next(f"Etc/GMT{shift:+d}" for shift in range(-14, 13) if (now - shift) % 24 == 12)
    async with pages(database, viewport={"width": 1280, "height": 900}) as watched:
        page = watched.page
        await watched.go("/reminders/new")
        await page.get_by_label("Name of the reminder").fill("Market day")
        await page.get_by_label("Text, or the caption of a file").fill("Good morning {group}")
        await page.get_by_label("All groups it may write to").check()
        await page.get_by_label("when I fire it").check()
        await page.get_by_label("From", exact=True).select_option("00:00")
        await page.get_by_label("To", exact=True).select_option("01:00")
        await page.get_by_label("Time zone").fill(zone)
        await page.get_by_role("button", name="Review").click()
        await page.get_by_role("button", name="Keep it").click()
        page.on("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Fire now").click()
        await expect(page.get_by_role("heading", name="Its delivery hours are over for today")).to_be_visible()
        assert await watched.problems() == []
        assert await database.pool.fetchval("SELECT count(*) FROM runs") == 0
        await page.get_by_role("link", name="Cancel").click()
        await page.get_by_role("button", name="Fire now").click()
        await page.get_by_role("button", name="Send it then").click()
        await expect(page.get_by_text("waiting").first).to_be_visible()
