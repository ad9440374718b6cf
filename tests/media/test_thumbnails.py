"""Thumbnails: made by a child with limits, still, small, and never of what only pretends to be a picture."""

from __future__ import annotations

import asyncio
import io
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from tests.history.rich_messages import ADA, file, wrote
from tests.media.kept_files import digest, post, put
from tests.media.picture_samples import (
    EPS,
    GIF_SCRIPT,
    HTML,
    MP4,
    PNG_SCRIPT,
    SVG,
    animation,
    picture,
    png_of,
)
from tests.media.stored_media import full_channel
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId
from tidegate.database.pool import Database
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import media_blobs, media_rules, served_files
from tidegate.media.store import key_of
from tidegate.media.thumbnails.thumbnail_limits import LIMITS, ThumbnailLimits
from tidegate.media.thumbnails.thumbnail_loop import ThumbnailLoop
from tidegate.media.thumbnails.thumbnailer import NoThumbnail, Thumbnailer
from tidegate.platforms.interface import FileForm


@pytest.fixture
async def maker() -> AsyncIterator[Thumbnailer]:
    """One child for the whole test."""
    async with Thumbnailer() as made:
        yield made


async def small(maker: Thumbnailer, content: bytes, kind: str) -> Image.Image:
    made = Image.open(io.BytesIO(await maker.make(content, kind)))
    made.load()
    return made


async def test_every_listed_format_becomes_a_small_still(maker: Thumbnailer) -> None:
    """With its proportions, in one format, by one child."""
    for form in ("PNG", "JPEG", "GIF", "WEBP", "AVIF"):
        made = await small(maker, picture(form, (1_600, 1_200)), f"image/{form.lower()}")
        assert (made.format, made.size) == ("WEBP", (480, 360)), form
    still = await small(maker, animation(), "image/gif")
    assert (still.size, getattr(still, "n_frames", 1)) == ((64, 64), 1)
    assert maker.children == 1


async def test_it_stands_upright_and_says_nothing_more(maker: Thumbnailer) -> None:
    """A photo is turned as its camera says; place and camera are not copied."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Maker"
    into = io.BytesIO()
    Image.new("RGB", (400, 200)).save(into, "JPEG", exif=exif)
    made = await small(maker, into.getvalue(), "image/jpeg")
    assert (made.size, dict(made.getexif())) == ((200, 400), {})


async def test_transparency_and_odd_modes(maker: Thumbnailer) -> None:
    """A sticker keeps what is see-through; grey, palette and print colours work."""
    for mode in ("RGBA", "LA", "P", "L", "1", "I;16"):
        into = io.BytesIO()
        Image.new(mode, (600, 600)).save(into, "PNG")
        made = await small(maker, into.getvalue(), "image/png")
        assert made.size == (480, 480), mode
    into = io.BytesIO()
    Image.new("RGBA", (600, 600), (0, 0, 0, 0)).save(into, "PNG")
    assert (await small(maker, into.getvalue(), "image/png")).mode == "RGBA"
    into = io.BytesIO()
    Image.new("CMYK", (600, 600)).save(into, "JPEG")
    assert (await small(maker, into.getvalue(), "image/jpeg")).mode == "RGB"


LYING = {
    "html": HTML, "svg": SVG, "eps": EPS, "film": MP4, "empty": b"", "half": picture()[:200],
    "gif with a script": GIF_SCRIPT, "header alone": png_of(100, 100), "rows of another picture": png_of(9, 9, b"\0"),
    "no picture behind the signature": b"\x89PNG\r\n\x1a\n" + b"\xff" * 500,
}  # fmt: skip


@pytest.mark.parametrize("what", LYING)
@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"])
async def test_what_lies_about_itself_has_no_thumbnail(what: str, kind: str) -> None:
    """Whatever it is called, there is a reason and no picture; the child survives it."""
    async with Thumbnailer() as maker:
        with pytest.raises(NoThumbnail, match=r"\.$"):
            await maker.make(LYING[what], kind)
        assert await maker.make(picture(), "image/png")
        assert maker.children == 1


@pytest.mark.parametrize("kind", ["image/svg+xml", "application/postscript", "image/tiff", "image/heic", "text/html"])
async def test_other_formats_are_not_opened(maker: Thumbnailer, kind: str) -> None:
    """Only formats on the list, also for a file that Pillow could read."""
    with pytest.raises(NoThumbnail, match="not made of"):
        await maker.make(picture("TIFF"), kind)
    assert maker.children == 0


async def test_a_picture_with_a_script_behind_it_gives_the_picture_alone(maker: Thumbnailer) -> None:
    """The thumbnail is drawn anew: nothing of the original's bytes is in it."""
    made = await maker.make(PNG_SCRIPT, "image/png")
    assert (b"script" in made, made[8:12]) == (False, b"WEBP")


async def test_a_bomb_is_refused_by_its_header(maker: Thumbnailer) -> None:
    """Its pixels are counted before one of them is unpacked."""
    rows = zlib.compress(b"\0" * 10_000_000, 9)
    assert len(rows) < 20_000
    for width, height in ((50_000, 50_000), (2**31 - 1, 1), (100_000, 501)):
        with pytest.raises(NoThumbnail, match="pixels"):
            await maker.make(png_of(width, height, b"\0" * 10_000_000), "image/png")
    assert maker.children == 1


async def drawn_often(maker: Thumbnailer, content: bytes) -> None:
    """So often that it takes more than a second of processor time."""
    for _ in range(20):
        await maker.make(content, "image/png")


async def test_a_bomb_within_the_pixels_ends_only_the_child() -> None:
    """Memory and time have limits of their own; the next picture gets a new child."""
    large = picture("PNG", (6_000, 6_000))
    async with Thumbnailer(ThumbnailLimits(memory=128 * 1024 * 1024)) as maker:
        with pytest.raises(NoThumbnail, match="memory or time"):
            await maker.make(large, "image/png")
        assert await maker.make(picture(), "image/png")
    async with Thumbnailer(ThumbnailLimits(seconds=0)) as maker:
        with pytest.raises(NoThumbnail, match="memory or time"):
            await drawn_often(maker, large)


async def test_a_file_that_is_too_long_is_not_read(maker: Thumbnailer) -> None:
    """However harmless it is."""
    with pytest.raises(NoThumbnail, match="too large"):
        await maker.make(b"\0" * (LIMITS.bytes + 1), "image/png")
    assert maker.children == 0


# In the background


@pytest.fixture
async def channel(database: Database) -> KnownChannel:
    """A channel whose files are kept."""
    async with database.transaction() as connection:
        return await full_channel(connection)


def loop_of(database: Database, home: Path) -> ThumbnailLoop:
    return ThumbnailLoop(database, LocalStore(home / "media"), home / "thumbnails")


async def places(database: Database, channel: KnownChannel, many: int) -> list[bool]:
    """Which of the first messages have a thumbnail of their file."""
    async with database.connection() as connection:
        found = [await served_files.find(connection, channel.key, MessageId(n), 1) for n in range(1, many + 1)]
    return [one is not None and one.thumbnail is not None for one in found]


async def test_thumbnails_keep_the_limit_for_all_files(
    database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """None is drawn where the limit leaves no room for it, and it is drawn once there is some."""
    await post(database, tmp_path, channel, [wrote(1, ADA, files=(file(1, "1", FileForm.IMAGE),))], {1: picture()})
    async with database.transaction() as connection:
        await media_rules.set_state(connection, total_limit=len(picture()) + 1_000)
    loop = loop_of(database, tmp_path)
    assert await loop.make_missing() == 0
    async with database.transaction() as connection:
        await media_rules.set_state(connection, total_limit=10**9)
    assert await loop.make_missing() == 1


async def test_kept_pictures_get_thumbnails_once(database: Database, channel: KnownChannel, tmp_path: Path) -> None:
    """The same bytes in two files once; a damaged one gets a reason and is not tried again."""
    contents = {1: picture(), 2: picture(), 3: picture("JPEG"), 4: picture()[:300], 5: MP4, 6: HTML}
    told = [wrote(n, ADA, files=(file(n, f"{n}", FileForm.IMAGE, size=9),)) for n in contents]
    await post(database, tmp_path, channel, told, contents)
    loop = loop_of(database, tmp_path)
    assert await loop.make_missing() == 2
    assert await places(database, channel, 6) == [True, True, True, False, False, False]
    assert await loop.make_missing() == 0
    reasons = await database.pool.fetch("SELECT no_thumbnail FROM media_blobs WHERE no_thumbnail IS NOT NULL")
    assert [row["no_thumbnail"] for row in reasons] == ["The picture is damaged, or is none."]
    assert not list((tmp_path / "thumbnails").iterdir())


async def test_a_turn_that_was_cut_short_is_resumed(database: Database, channel: KnownChannel, tmp_path: Path) -> None:
    """A turn makes so many; what is left is made by the next, also of another worker."""
    contents = {n: picture(colour=f"#0000{n:02x}") for n in range(1, 8)}
    told = [wrote(n, ADA, files=(file(n, f"{n}", FileForm.IMAGE, size=9),)) for n in contents]
    await post(database, tmp_path, channel, told, contents)
    assert await loop_of(database, tmp_path).make_missing(most=3) == 3
    assert sum(await places(database, channel, 7)) == 3
    assert await loop_of(database, tmp_path).make_missing() == 4
    assert all(await places(database, channel, 7))


async def test_two_workers_draw_no_picture_twice(database: Database, channel: KnownChannel, tmp_path: Path) -> None:
    """Both look at the same pictures at the same time; each is drawn by one of them."""
    contents = {n: picture(colour=f"#0000{n:02x}") for n in range(1, 13)}
    told = [wrote(n, ADA, files=(file(n, f"{n}", FileForm.IMAGE, size=9),)) for n in contents]
    await post(database, tmp_path, channel, told, contents)
    one, other = loop_of(database, tmp_path), loop_of(database, tmp_path)
    one._after = other._after
    assert sum(await asyncio.gather(one.make_missing(), other.make_missing())) == 12
    assert all(await places(database, channel, 12))


async def test_a_picture_of_a_worker_that_died_is_drawn_by_another(
    database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Its claim ends by itself."""
    await post(database, tmp_path, channel, [wrote(1, ADA, files=(file(1, "1", FileForm.IMAGE, size=9),))],
               {1: picture()})  # fmt: skip
    loop = loop_of(database, tmp_path)
    await database.pool.execute("UPDATE media_blobs SET drawing_until = clock_now() + interval '1 minute'")
    assert await loop.make_missing() == 0
    await database.pool.execute("UPDATE media_blobs SET drawing_until = clock_now()")
    assert await loop.make_missing() == 1


async def test_trouble_of_the_store_blames_no_picture(
    database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Missing bytes are noted as such; a store that is away is tried again later."""
    contents = {1: picture(), 2: picture("JPEG")}
    told = [wrote(n, ADA, files=(file(n, f"{n}", FileForm.IMAGE, size=9),)) for n in contents]
    await post(database, tmp_path, channel, told, contents)
    (tmp_path / "media" / key_of(digest(contents[1]))).unlink()
    loop = loop_of(database, tmp_path)
    assert await loop.make_missing() == 1
    missing = await database.pool.fetchval("SELECT count(*) FROM media_blobs WHERE missing_at IS NOT NULL")
    assert missing == 1
    await put(LocalStore(tmp_path / "media"), tmp_path / "again", contents[1])
    await database.pool.execute("UPDATE media_blobs SET missing_at = NULL")
    folder = (tmp_path / "media" / key_of(digest(contents[1]))).parent
    folder.rename(tmp_path / "away")
    folder.write_text("no folder")
    assert await loop.make_missing() == 0
    folder.unlink()
    (tmp_path / "away").rename(folder)
    assert await loop.make_missing() == 1
    assert await places(database, channel, 2) == [True, True]


async def test_a_removed_picture_takes_its_thumbnail_along(
    database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Of what the operator does not want, no small picture is left to look at."""
    contents = {1: picture(), 2: picture("JPEG")}
    told = [wrote(n, ADA, files=(file(n, f"{n}", FileForm.IMAGE, size=9),)) for n in contents]
    await post(database, tmp_path, channel, told, contents)
    assert await loop_of(database, tmp_path).make_missing() == 2
    async with database.transaction() as connection:
        await media_blobs.remove(connection, digest(contents[1]), block=True)
    assert await places(database, channel, 2) == [False, True]
    assert await loop_of(database, tmp_path).make_missing() == 0
