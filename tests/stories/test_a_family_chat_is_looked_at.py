"""A family chat is mirrored with its pictures and voice; on a phone one finds a photo and steps through the album."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.media.fetching_scene import MediaScene
from tests.scenes.telegram_mirror import Mirror, mirror, telegram, world
from tests.web.browser_pages import PHONE, link
from tests.web.browsing import browsing, needs_browser
from tests.web.family_chat import landscape, sound
from tests.web.visiting import visiting
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.file_content import FileKind
from tidegate.media.thumbnails.thumbnail_loop import ThumbnailLoop

__all__ = ["mirror", "telegram", "world"]  # fixtures

pytestmark = needs_browser

ALBUM = 77


async def family(mirror: Mirror, world: World, home: Path) -> MediaScene:
    """A chat with an album, a voice message and some talk, mirrored and fetched, its thumbnails drawn."""
    channel = world.add_channel("Family")
    await mirror.sync()
    await mirror.enable(channel, in_full=True)
    scene = MediaScene(mirror, channel, home / "media")
    for number in range(30):
        world.post(channel, f"some talk {number}")
    for number in range(4):
        photo = world.add_content("", landscape(number), kind=FileKind.PHOTO, mime="image/jpeg")
        world.post(channel, "Our lighthouse" if number == 0 else "", file=photo, album=ALBUM)
    world.post(channel, file=world.add_content("", sound(), kind=FileKind.VOICE, mime="audio/ogg"))
    for number in range(30):
        world.post(channel, f"more talk {number}")
    await scene.mirrored()
    assert (await scene.fetch()).kept == 5
    assert await ThumbnailLoop(mirror.database, scene.setup.store, home / "drawn").make_missing() == 4
    return scene


@pytest.mark.story
async def test_a_photo_is_found_by_its_caption_and_opened_on_a_phone(
    mirror: Mirror, world: World, tmp_path: Path
) -> None:
    """Search leads to the message, the photo opens, the album is stepped through, and one returns to the message."""
    tmp_path.chmod(0o700)
    await family(mirror, world, tmp_path)
    async with visiting(mirror.database, TIDEGATE_HOME=str(tmp_path)) as client:
        base = str(client.base_url).rstrip("/")
        async with browsing(base, await link(mirror.database, base), **PHONE) as watched:
            page = watched.page
            await watched.go("/messages?q=lighthouse")
            await page.locator(".finds a[href*='around=']").first.click()
            await expect(page.locator(".mark a.shot")).to_have_count(4)
            await page.locator(".mark a.shot").first.click()
            viewer = page.locator("dialog.viewer-dialog")
            for step in range(4):
                await expect(viewer.get_by_role("link", name="Go to message")).to_have_attribute(
                    "href", await page.locator(".mark a.shot").nth(step).evaluate(
                        "one => one.getAttribute('href').replace(/messages\\/(\\d+).*/, 'messages?around=$1#m$1')"
                    )
                )  # fmt: skip
                await expect(viewer).to_contain_text("Our lighthouse")
                assert await viewer.locator("img").evaluate("one => one.decode().then(() => one.naturalWidth)") == 1_200
                if step < 3:
                    await page.keyboard.press("ArrowRight")
            assert (await watched.problems(), await watched.too_wide()) == ([], 0)
            await viewer.get_by_role("link", name="Go to message").click()
            await expect(page.locator(".msg.mark")).to_be_in_viewport()
            await expect(page.locator("audio")).to_have_count(1)
            assert watched.wrong == []
