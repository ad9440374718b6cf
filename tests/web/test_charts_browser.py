"""Charts in a real browser: in both themes, on a desk and a phone, with the keyboard, and without script."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.web.browser_pages import PHONE, pages
from tests.web.browsing import needs_browser
from tests.web.chart_rows import add_running_run, fill_sums
from tidegate.database.pool import Database

pytestmark = needs_browser


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
        {**PHONE, "viewport": {"width": 320, "height": 640}, "color_scheme": "dark"},
    ],
    ids=["desktop-light", "phone-dark"],
)
async def test_charts_fit_and_can_be_read(database: Database, options: dict[str, object]) -> None:
    """On each page that has some: axe finds nothing, nothing is too wide, and every bar has a colour of its own."""
    key = await fill_sums(database)
    run = await add_running_run(database)
    async with pages(database, **options) as watched:
        for path in (
            "/?range=30d",
            "/accounts/activity?name=ada",
            f"/channels/{key}/statistics",
            "/storage",
            f"/activity/{run}",
        ):
            await watched.go(path)
            chart = watched.page.locator(".chart").first
            await expect(chart).to_be_visible()
            for summary in await watched.page.locator(".numbers summary").all():
                await summary.press("Enter")
            assert await watched.problems() == [], path
            assert await watched.too_wide() == 0, path
        drawn = "getComputedStyle(document.querySelector('.plot polyline')).stroke"
        assert await watched.page.evaluate(drawn) not in ("none", "rgb(0, 0, 0)")


async def test_a_range_is_chosen_with_the_keyboard(database: Database) -> None:
    """The charts follow, and their times are in the zone of the browser, which the first page cannot know."""
    await fill_sums(database)
    async with pages(database) as watched:
        page = watched.page
        await watched.go("/")
        await expect(page.locator("[data-zone]")).to_have_text("Times are in Asia/Tokyo.")
        await page.get_by_role("link", name="7 days").press("Enter")
        await expect(page.get_by_role("heading", name="Last 7 days")).to_be_visible()
        await expect(page.get_by_role("img", name="API requests: 1,400 in all")).to_be_visible()
        await page.get_by_text("Show as a table").press("Enter")
        await expect(page.get_by_role("region", name="Numbers of the charts").get_by_role("row")).to_have_count(8)


async def test_charts_need_no_script(database: Database) -> None:
    """They are in the page itself, and the range is a link."""
    await fill_sums(database)
    async with pages(database) as watched:
        state = await watched.page.context.storage_state()
        browser = watched.page.context.browser
        assert browser is not None
        context = await browser.new_context(storage_state=state, java_script_enabled=False)
        page = await context.new_page()
        await page.goto(f"{watched.base}/")
        await page.get_by_role("link", name="30 days").click()
        await expect(page.get_by_role("img", name="Messages sent: 600 in all")).to_be_visible()
        await context.close()
