"""The pages about what is mirrored in a real browser: found, walked, steered; hostile words do no harm."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.async_api import expect

from tests.held import NOON
from tests.history.stored_messages import kept, said
from tests.web.archive_builder import add_archive
from tests.web.browser_pages import PHONE, link, pages
from tests.web.browsing import needs_browser
from tests.web.hostile_words import HOSTILE
from tests.web.seen_channels import see
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AccountId
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Database
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries import feed
from tidegate.history.queries import messages

__all__ = ["kept"]  # a fixture

pytestmark = needs_browser

TABS = ("messages", "topics", "files", "archives", "options", "technical")
WIDTHS = (320, 390, 834, 1_024, 1_280)


@pytest.fixture
async def archive(database: Database, kept: KnownChannel) -> int:
    """A forum with gaps, topics and a history; a hostile message, a hostile channel, and an archive that failed."""
    await see(database, kept, {number: f"Room {number}" for number in range(100, 170)} | {8: HOSTILE})
    async with database.transaction() as connection:
        await messages.store(connection, kept.key, [said(50, f"{HOSTILE} tower", HOSTILE)])
        edited = replace(said(50, f"tower {HOSTILE}", HOSTILE), edited_at=NOON)
        await messages.store(connection, kept.key, [edited])
        await connection.execute(
            "UPDATE channels SET in_full = true WHERE id = $1", kept.key,
        )  # fmt: skip
        await connection.execute(
            "UPDATE places SET newest_seen = 90, verdict = 'gate: changed', last_scanned_at = now()"
        )
        await connection.execute(
            "INSERT INTO coverage (channel, kind, spans) VALUES ($1, 'messages', '{[0,30),[50,91)}')", kept.key
        )
        await connection.execute("INSERT INTO places (channel, topic, title) VALUES ($1, 5, $2)", kept.key, HOSTILE)
        report = {"calls_total": 3, "verdicts": {"unchanged": 1_085, "changed": 1}, "messages": 12}
        await cycles.record(connection, kept.reader or AccountId(0), 4, NOON, report, whole=True)
        read = ChannelRead(channel=kept.number, topic=None, messages=12, archives=1)
        await feed.record(connection, kept.title, read)
        return await add_archive(connection, kept, HOSTILE, f"tower/{HOSTILE}", state="failed")


async def test_every_page_is_whole_with_hostile_words_in_it(
    database: Database, kept: KnownChannel, archive: int
) -> None:
    """No error, no other host, no serious finding of axe-core, nothing wider than the screen."""
    async with pages(database, color_scheme="light", **PHONE) as watched:
        for path in (
            "/channels", *(f"/channels/{kept.key}/{tab}" for tab in TABS), "/archives?q=tower",
            f"/channels/selected?act=stop&channel={kept.key}", f"/archives/{archive}", "/messages?q=tower",
        ):  # fmt: skip
            await watched.go(path)
            assert await watched.problems() == [], path
            for width in WIDTHS:
                await watched.page.set_viewport_size({"width": width, "height": 844})
                assert await watched.too_wide() == 0, (path, width)
            await watched.page.set_viewport_size(PHONE["viewport"])
        await watched.page.goto(await link(database, watched.base))
        assert await watched.problems() == []


async def test_a_channel_is_found_while_one_types_and_steered(
    database: Database, kept: KnownChannel, archive: int
) -> None:
    """What is typed narrows the list and stands in the address; on the channel's page each button says what it did."""
    async with pages(database) as watched:
        page = watched.page
        await watched.go("/channels")
        await page.get_by_label("Name or ID").press_sequentially("room 16")
        await expect(page.locator("#channels tbody tr")).to_have_count(10)
        await expect(page).to_have_url(re.compile(r"[?&]q=room(\+|%20)16(&|$)"))
        await page.get_by_label("Name or ID").fill("Channel 7")
        await page.get_by_role("link", name="Channel 7").click()
        await page.get_by_role("link", name="Options").click()
        await expect(page.get_by_role("img", name="gap")).to_be_visible()
        await page.get_by_role("button", name="Check now").click()
        await expect(page.locator("#said")).to_contain_text('Check of "Channel 7" started.')
        asked: list[str] = []
        page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept())[1])
        await page.get_by_role("button", name="Stop mirroring").click()
        await expect(page.locator("#channel")).to_contain_text("Start mirroring")
        assert asked == ['Stop mirroring "Channel 7"? What is stored stays.']
        assert await watched.problems() == []
    assert [row["kind"] for row in await database.pool.fetch("SELECT kind FROM commands")] == ["cycle"]


async def test_a_failure_is_tried_again_and_a_search_leads_to_the_message(
    database: Database, kept: KnownChannel, archive: int
) -> None:
    """The archive's page asks for another try; a search finds the message and opens its channel there."""
    async with pages(database) as watched:
        page = watched.page
        await watched.go(f"/archives/{archive}")
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("#said")).to_contain_text("1 archive will be retried at the next check.")
        await watched.go("/messages")
        await page.get_by_label("Search messages and files").fill("which tower")
        await page.keyboard.press("Enter")
        await page.get_by_role("link", name="Show in channel").click()
        await expect(page.locator("#m1")).to_contain_text("which tower?")
        await expect(page.locator("#m4 del")).to_have_text("never mind")
        await page.get_by_text("Earlier versions").first.click()
        await expect(page.locator("#m3 details")).to_contain_text("and this?")
        assert await watched.problems() == []
    assert await database.pool.fetchval("SELECT by_hand FROM failures WHERE archive = $1", archive)


async def test_a_day_to_jump_to_is_the_readers_own(database: Database, kept: KnownChannel) -> None:
    """The form names the browser's zone and brings it along; an instant shown in that zone has UTC in its title."""
    async with pages(database) as watched:
        await watched.go(f"/channels/{kept.key}/messages")
        await watched.page.get_by_text("Jump to date").click()
        await expect(watched.page.locator(".jump .hint")).to_contain_text("Asia/Tokyo")
        await watched.page.get_by_label("Date").fill(f"{NOON:%Y-%m-%d}")
        await watched.page.get_by_role("button", name="Go").click()
        await watched.page.wait_for_url("**zone=Asia%2FTokyo*")
        shown = watched.page.locator("ol time[data-show=clock]").first
        await expect(shown).to_have_text(re.compile(r"^21:00$"))
        await expect(shown).to_have_attribute("title", re.compile(r" · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$"))
        assert await watched.problems() == []
