"""A person at work in a real browser while things move: news, slow files, an ended session, an outage."""

from __future__ import annotations

import asyncio

from playwright.async_api import Page, Route, expect

from tests.web.browser_pages import add_account, pages
from tests.web.browsing import needs_browser
from tests.web.operator_password import PASSWORD, set_password
from tests.web.reminder_client import GROUPS, PNG
from tidegate.database.pool import Database

pytestmark = needs_browser


async def test_the_keyboard_keeps_its_place_while_the_page_moves(database: Database) -> None:
    """A list that loads itself anew takes the focus from nobody; after an outage the page is live again by itself."""
    for name in ("first", "second"):
        await add_account(database, name)
    async with pages(database) as watched:
        await watched.go("/accounts")
        button = watched.page.get_by_role("button", name="Pause second")
        await button.focus()
        await add_account(database, "third")
        await expect(watched.page.locator("#accounts")).to_contain_text("third")
        await expect(button).to_be_focused()
        assert await watched.problems() == []

        await watched.page.route("**/events*", lambda route: route.fulfill(status=503, body="away"))
        await watched.page.reload()
        await expect(watched.page.locator("#live")).to_contain_text("Not live")
        await watched.page.unroute("**/events*")
        await expect(watched.page.locator("#live")).to_have_text("Live")


async def test_what_is_typed_outlives_colours_slow_files_and_the_session(database: Database) -> None:
    """Nothing is sent without its picture, and nothing is typed twice."""
    await database.pool.execute(GROUPS)
    await set_password(database)
    arrives = asyncio.Event()

    async def slowly(route: Route) -> None:
        await arrives.wait()
        await route.continue_()

    async with pages(database) as watched:
        page = watched.page
        await watched.go("/reminders/new")
        await page.get_by_label("Name of the reminder").fill("Friday stock")
        await page.get_by_role("button", name="Dark").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
        await expect(page.get_by_label("Name of the reminder")).to_have_value("Friday stock")

        await page.get_by_label("All groups this account can post in").check()
        await page.route("**/uploads/*", slowly)
        await page.get_by_label("Attachment").set_input_files(
            {"name": "poster.png", "mimeType": "image/png", "buffer": PNG}
        )
        await page.get_by_role("button", name="Review").click()
        await expect(page.locator("#trouble")).to_have_text(
            "A file is still being uploaded. Continue when it has arrived."
        )
        arrives.set()
        await expect(page.locator("[data-file]").first).to_have_text("poster.png")

        watched.session_may_end = True
        await database.pool.execute("DELETE FROM sessions")
        await page.get_by_role("button", name="Review").click()
        await sign_in(page)
        await page.get_by_role("button", name="Send it now").click()
        await expect(page.get_by_role("heading", name="Review Friday stock")).to_be_visible()
        await expect(page.get_by_alt_text("Picture poster.png")).to_be_visible()
        assert await watched.problems() == []


async def test_what_is_typed_into_a_channels_page_outlives_the_session(database: Database) -> None:
    """Also where the page's script sends it: it waits until it can be sent, and is sent as it was typed."""
    await database.pool.execute(GROUPS)
    await set_password(database)
    async with pages(database) as watched:
        page = watched.page
        await watched.go("/channels/1/options")
        await page.get_by_label("Copy archives to").select_option("Group 2")
        watched.session_may_end = True
        await database.pool.execute("DELETE FROM sessions")
        await page.get_by_role("button", name="Start mirroring").click()
        await expect(page.get_by_role("alert")).to_contain_text("what you typed is kept meanwhile")
        await sign_in(page)
        await page.get_by_role("button", name="Send it now").click()
        await expect(page.get_by_label("Copy archives to")).to_have_value("2")
        assert await watched.problems() == []

        await page.get_by_label("Copy archives to").select_option("Group 3")
        other = await page.context.new_page()
        await other.goto(f"{watched.base}/sign-in")
        await sign_in(other)
        await expect(other.get_by_role("heading", name="Home")).to_be_visible()
        await page.get_by_role("button", name="Save options").click()
        await page.get_by_role("button", name="Send it now").click()
        await expect(page.get_by_label("Copy archives to")).to_have_value("3")


async def sign_in(page: Page) -> None:
    """Begin a session with the password."""
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
