"""What operators do on the pages by hand, step by step."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, expect

from tests.web.browsing import Watched

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


async def begin_adding(watched: Watched, platform: str, name: str, *, standing: str = "normal") -> None:
    await watched.go("/accounts")
    await watched.page.get_by_role("radio", name=platform).check()
    await watched.page.get_by_label("Name in Tidegate").fill(name)
    if await watched.page.get_by_label("Age of this account").is_visible():
        await watched.page.get_by_label("Age of this account").select_option(standing)
    await watched.page.get_by_role("button", name="Connect account").click()


async def answer(watched: Watched, question: str, text: str) -> None:
    await watched.page.get_by_label(question, exact=True).fill(text)
    await watched.page.get_by_role("button", name="Continue").click()


async def write_reminder(page: Page, picture: Path, *, account: str, groups: int) -> None:
    """Two messages, the first with a picture, to all these groups of the account, fired by hand, at any hour."""
    await page.get_by_label("Name of the reminder").fill("Market day")
    await page.get_by_label("Message (or caption)").fill("Good morning {group}")
    await page.get_by_label("Attachment").set_input_files(picture)
    await expect(page.locator("[data-file]").first).to_have_text(picture.name)
    await page.get_by_role("button", name="Add message").click()
    await page.get_by_label("Message (or caption)").last.fill("See you at the market")
    await page.get_by_label("Filter groups").fill("stall")
    await page.get_by_label("Send from").select_option(account)
    shown = page.locator("#groups label:visible")
    await expect(shown).to_have_count(groups)
    for group in await shown.all():
        await group.locator("input").check()
    await page.get_by_label("Manual").check()
    await page.get_by_label("From", exact=True).select_option("00:00")
    await page.get_by_label("To", exact=True).select_option("24:00")
