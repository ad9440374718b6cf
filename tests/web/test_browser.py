"""The pages in a real browser: no error, no other host, no serious finding of axe-core, and live."""

from __future__ import annotations

import re

from playwright.async_api import expect

from tests.web.browser_pages import PHONE, add_account, link, pages
from tests.web.browsing import needs_browser
from tests.web.hostile_words import HOSTILE
from tidegate.access.queries import tokens
from tidegate.database.pool import Database
from tidegate.web.menu import NAVIGATION

pytestmark = needs_browser


async def test_every_page_is_whole_while_there_is_nothing_to_show(database: Database) -> None:
    """But for an account with a hostile name; nothing is wider than a phone's screen."""
    await add_account(database, HOSTILE)
    async with pages(database, color_scheme="dark", **PHONE) as watched:
        for path in (*(path for _, path in NAVIGATION), "/reminders/new", f"/accounts?like={'x' * 300}"):
            await watched.go(path)
            assert await watched.problems() == [], path
            assert await watched.too_wide() == 0, path
        await watched.page.goto(await link(database, watched.base))
        assert await watched.problems() == []
        assert await watched.too_wide() == 0


async def test_what_happens_shows_without_loading_the_page_again(database: Database) -> None:
    """Another process changes something; the open page shows it, in the reader's own time zone."""
    async with pages(database) as watched:
        await watched.go("/")
        await expect(watched.page.locator("#lanes")).to_contain_text("No account is connected yet")
        await add_account(database, "shop")
        await expect(watched.page.locator("#lanes")).to_contain_text("shop")
        await expect(watched.page.locator("#feed")).to_contain_text("Account added")
        await expect(watched.page.locator("#feed time").first).to_have_attribute("title", re.compile(r"GMT\+9"))
        assert await watched.problems() == []


async def test_a_change_says_what_it_did_and_a_refusal_why(database: Database) -> None:
    """Pausing an account by its button; a change that cannot be is a sentence on the page."""
    await add_account(database, "shop")
    async with pages(database) as watched:
        await watched.go("/accounts")
        await watched.page.get_by_role("button", name="Pause").click()
        await expect(watched.page.locator("#said")).to_contain_text('"shop" is paused')
        await expect(watched.page.get_by_role("button", name="Resume")).to_be_visible()
        async with database.transaction() as connection:
            await tokens.add(connection, "bot", [tokens.TokenScope.READ], None)
        await watched.go("/settings")
        await database.pool.execute("DELETE FROM tokens")  # behind the page's back
        watched.page.on("dialog", lambda dialog: dialog.accept())
        await watched.page.get_by_role("button", name="Revoke").click()
        await expect(watched.page.locator("#trouble")).to_contain_text('There is no token "bot"')
        assert [one for one in watched.wrong if "404" not in one] == []


async def test_it_can_be_used_with_the_keyboard_alone(database: Database) -> None:
    """The first stop is the way past the menu; the focus can be seen; the theme is chosen with Enter."""
    async with pages(database, color_scheme="light") as watched:
        await watched.go("/")
        await watched.page.keyboard.press("Tab")
        await expect(watched.page.get_by_text("Skip to content")).to_be_focused()
        await watched.page.keyboard.press("Enter")
        await expect(watched.page.locator("main")).to_be_focused()
        await watched.page.get_by_role("button", name="Dark").focus()
        await watched.page.keyboard.press("Enter")
        await expect(watched.page.locator("html")).to_have_attribute("data-theme", "dark")
        assert await watched.problems() == []


async def test_a_token_is_made_shown_once_and_revoked(database: Database) -> None:
    """By hand, as an operator does it, with the question before it is revoked."""
    async with pages(database) as watched:
        await watched.go("/settings")
        await watched.page.get_by_label("Name").fill("my bot")
        await watched.page.get_by_role("button", name="Create token").click()
        await expect(watched.page.locator("#secret")).to_have_text(re.compile(r"^tidegate_[\w-]{43}$"))
        assert await watched.problems() == []
        await watched.page.get_by_role("link", name="Done").click()
        watched.page.on("dialog", lambda dialog: dialog.accept())
        await watched.page.get_by_role("button", name="Revoke").click()
        await expect(watched.page.locator("#tokens")).to_contain_text("There is no token yet")
        assert await watched.problems() == []


async def test_tokens_of_a_backup_are_confirmed_by_hand(database: Database) -> None:
    """What waits is in sight on the first page, and one press lets one token work again, or all of them."""
    async with database.transaction() as connection:
        for name in ("one", "two", "three"):
            await tokens.add(connection, name, [tokens.TokenScope.READ], None)
        await tokens.unconfirm_all(connection)
    for name, options in (("one", {"color_scheme": "light"}), ("two", {"color_scheme": "dark", **PHONE})):
        async with pages(database, **options) as watched:
            await watched.go("/")
            await watched.page.get_by_role("link", name="Confirm or revoke").click()
            await watched.page.wait_for_selector("#live.on")
            assert await watched.problems() == []
            assert await watched.too_wide() == 0
            await watched.page.get_by_role("button", name=f"Confirm {name}").click()
            await expect(watched.page.locator("#said")).to_contain_text("is confirmed.")
            assert await watched.problems() == []


async def test_one_press_signs_every_browser_out(database: Database) -> None:
    """After a question; the other browser is asked to sign in as soon as it does anything."""
    async with pages(database) as watched, pages(database) as other:
        await watched.go("/settings")
        watched.page.on("dialog", lambda dialog: dialog.accept())
        await watched.page.get_by_role("button", name="Sign out everywhere").click()
        await watched.page.wait_for_url("**/sign-in")
        answer = await other.page.request.get(f"{other.base}/settings")  # its cookies; the page may move by itself
        assert "/sign-in" in answer.url
