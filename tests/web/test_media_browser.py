"""Files in a real browser: pictures, albums, players, the viewer by mouse and keyboard, and the pages about them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.history.rich_messages import ADA, file, wrote
from tests.media.kept_files import post
from tests.media.picture_samples import GIF_SCRIPT, HTML, PDF_HTML, PNG_SCRIPT, SVG
from tests.web.browser_pages import PHONE, link
from tests.web.browsing import Watched, browsing, needs_browser
from tests.web.family_chat import CAPTION, keep_family_chat
from tests.web.visiting import visiting
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Database
from tidegate.platforms.interface import FileForm

pytestmark = needs_browser


@pytest.fixture
async def family(database: Database, tmp_path: Path) -> KnownChannel:
    """A family chat whose files are kept."""
    tmp_path.chmod(0o700)
    return await keep_family_chat(database, tmp_path)


@asynccontextmanager
async def pages(database: Database, home: Path, **options: object) -> AsyncIterator[Watched]:
    async with visiting(database, TIDEGATE_HOME=str(home)) as client:
        base = str(client.base_url).rstrip("/")
        async with browsing(base, await link(database, base), **options) as watched:
            yield watched


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_pages_with_files_on_any_screen(
    database: Database, family: KnownChannel, tmp_path: Path, theme: str
) -> None:
    """No error, no other host, no serious finding of axe-core, and nothing wider than the screen."""
    at = f"/channels/{family.key}"
    paths = (f"{at}/messages", f"{at}/files", f"{at}/messages/2/files/1/view", "/storage")
    async with pages(database, tmp_path, color_scheme=theme) as watched:
        for width in (320, 390, 1280):
            await watched.page.set_viewport_size({"width": width, "height": 800})
            for path in paths:
                await watched.go(path)
                assert (await watched.problems(), await watched.too_wide()) == ([], 0), (path, width)


async def test_one_steps_through_pictures_by_keyboard(database: Database, family: KnownChannel, tmp_path: Path) -> None:
    """A photo opens with its caption, arrows lead to the next and back, and Escape returns to where one was."""
    async with pages(database, tmp_path, **PHONE) as watched:
        page = watched.page
        await watched.go(f"/channels/{family.key}/messages")
        shot = page.locator("#m2 a.shot")
        await expect(page.locator("#m10 a.shot")).to_have_count(5)
        await shot.click()
        viewer = page.locator("dialog.viewer-dialog")
        await expect(viewer).to_contain_text(CAPTION)
        assert await viewer.locator("img").evaluate("one => one.decode().then(() => one.naturalWidth)") == 1_200
        await page.keyboard.press("ArrowRight")
        await expect(viewer).to_contain_text("upright")
        await page.keyboard.press("ArrowRight")
        await expect(viewer).to_contain_text("Five from the trip")
        await page.keyboard.press("ArrowRight")
        await expect(viewer.get_by_role("link", name="Go to message")).to_have_attribute("href", re.compile("#m11$"))
        await expect(viewer).to_contain_text("Five from the trip")
        await page.keyboard.press("ArrowLeft")
        await expect(viewer.get_by_role("link", name="Go to message")).to_have_attribute("href", re.compile("#m10$"))
        await page.keyboard.press("ArrowLeft")
        await expect(viewer).to_contain_text("upright")
        await viewer.get_by_role("link", name="Previous").click()
        await expect(viewer).to_contain_text(CAPTION)
        assert (await watched.problems(), await watched.too_wide()) == ([], 0)
        await page.keyboard.press("Escape")
        await expect(viewer).to_be_hidden()
        await expect(shot).to_be_focused()
        await page.locator("#m10 a.shot").last.click()
        await viewer.get_by_role("link", name="Go to message").click()
        await page.wait_for_url("**around=14#m14")
        assert watched.wrong == []


async def test_custom_emoji_and_stills_are_seen(database: Database, family: KnownChannel, tmp_path: Path) -> None:
    """A custom emoji is a picture in its text and in a reaction; a film has a still before it plays."""
    async with pages(database, tmp_path, **PHONE) as watched:
        await watched.go(f"/channels/{family.key}/messages")
        message = watched.page.locator("#m26")
        for shown in (message.locator(".body .emoji img"), message.locator(".reactions img.emoji")):
            await shown.scroll_into_view_if_needed()
            assert await shown.evaluate("one => one.decode().then(() => one.naturalWidth)") == 100
        await expect(message.locator(".body")).to_contain_text("Ahoy ⚓ all")
        await expect(message.locator(".reactions")).to_contain_text("👍")
        answer = await watched.page.request.get(await watched.page.locator("#m21 video").evaluate("one => one.poster"))
        assert (answer.status, answer.headers["content-type"]) == (200, "image/jpeg")
        await watched.go(f"/channels/{family.key}/files")
        await expect(watched.page.locator("a.shot")).not_to_have_count(0)
        assert "custom:900" not in await watched.page.content()


async def test_it_works_without_script(database: Database, family: KnownChannel, tmp_path: Path) -> None:
    """A picture is a link to its page, which has the picture, its caption and the ways on."""
    async with pages(database, tmp_path) as watched:
        cookies = await watched.page.context.cookies()
        plain = await watched.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
        await plain.add_cookies(cookies)  # type: ignore[arg-type]
        page = await plain.new_page()
        await page.goto(f"{watched.base}/channels/{family.key}/messages")
        await page.locator("#m2 a.shot").click()
        await expect(page.locator("#viewer")).to_contain_text(CAPTION)
        await page.get_by_role("link", name="Next").click()
        await expect(page.locator("#viewer")).to_contain_text("upright")
        await page.get_by_role("link", name="Go to message").click()
        await expect(page.locator("#m3")).to_be_visible()
        await plain.close()


async def test_what_is_not_kept_is_said(database: Database, family: KnownChannel, tmp_path: Path) -> None:
    """Voice and film have players that load nothing by themselves; a document is a download."""
    async with pages(database, tmp_path) as watched:
        page = watched.page
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await watched.go(f"/channels/{family.key}/messages")
        await expect(page.locator("#m24")).to_contain_text("Not kept. The file is larger than the limit for one file.")
        await expect(page.locator("#m25")).to_contain_text("Not kept yet: it will be fetched.")
        await expect(page.locator("#m20 audio")).to_have_attribute("preload", "none")
        await expect(page.locator("#m21 video")).to_have_attribute("preload", "none")
        loaded = [one for one in asked if "/messages/20/" in one or "/messages/21/" in one]
        assert [one for one in loaded if not one.endswith("/thumbnail")] == []
        lasts = """one => new Promise((done) => {
            one.onloadedmetadata = () => done(one.duration);
            one.preload = "auto";
            one.load();
        })"""
        assert round(await page.locator("#m20 audio").evaluate(lasts)) == 2
        async with page.expect_download() as started:
            await page.locator("#m23 a[download]").click()
        assert (await started.value).suggested_filename == "Seekarte Elbmündung.pdf"


async def test_hostile_files_run_nothing_when_they_are_opened(
    database: Database, family: KnownChannel, tmp_path: Path
) -> None:
    """Opened by itself each is a picture without a script, or a download."""
    hostile = {50: HTML, 51: SVG, 52: PDF_HTML, 53: GIF_SCRIPT, 54: PNG_SCRIPT}
    told = [wrote(n, ADA, files=(file(n, f"{n}.html", FileForm.IMAGE, size=9),)) for n in hostile]
    await post(database, tmp_path, family, told, hostile)
    async with pages(database, tmp_path) as watched:
        page = await watched.page.context.new_page()
        ran: list[str] = []
        page.on("dialog", lambda dialog: ran.append(dialog.message))
        page.on("console", lambda message: ran.append(message.text) if "cookie" in message.text else None)
        for number in hostile:
            address = f"{watched.base}/channels/{family.key}/messages/{number}/files/1"
            if number < 53:
                async with page.expect_download():
                    await page.evaluate("(there) => { location.href = there; }", address)
            else:
                await page.goto(address)
                assert await page.evaluate("document.contentType") in ("image/gif", "image/png")
                assert await page.locator("script").count() == 0
        assert ran == []
