"""Stored files over pages and API: who gets them, how, and what hostile ones can do, which is nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from tests.history.rich_messages import ADA, file, wrote
from tests.media.kept_files import digest, post
from tests.media.picture_samples import (
    EPS,
    GIF_SCRIPT,
    HTML,
    JPEG_HTML,
    MP4,
    OGG,
    PDF_HTML,
    PNG_SCRIPT,
    SVG,
    ZIP_HTML,
    picture,
)
from tests.media.stored_media import full_channel
from tests.web.api_client import refused, token
from tests.web.visiting import loaded, sign_in
from tests.web.web_client import answering
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId, Sha256
from tidegate.database.pool import Database
from tidegate.history.queries import deletions
from tidegate.media.local_store import LocalStore
from tidegate.media.store import StoreTrouble, key_of
from tidegate.platforms.interface import File, FileForm
from tidegate.web import make_app

PICTURE = picture("PNG")


@pytest.fixture
async def channel(database: Database) -> KnownChannel:
    """A channel whose files are kept."""
    async with database.transaction() as connection:
        return await full_channel(connection, 7)


@pytest.fixture
async def client(database: Database, channel: KnownChannel, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in at the pages, and shows a token for all channels to the API."""
    tmp_path.chmod(0o700)
    async with answering(make_app(database, loaded(TIDEGATE_HOME=str(tmp_path)))) as opened:
        await sign_in(opened, database)
        opened.headers["authorization"] = f"Bearer {await token(database)}"
        yield opened


def named(name: str, number: int = 1) -> File:
    return file(number, name, FileForm.FILE, size=100)


async def one_file(
    database: Database, home: Path, channel: KnownChannel, content: bytes, *, name: str = "photo.png", number: int = 1
) -> list[str]:
    """A message with one kept file; its addresses on the pages and in the API."""
    await post(database, home, channel, [wrote(number, ADA, files=(named(name, number),))], {number: content})
    return [
        f"/channels/{channel.key}/messages/{number}/files/1",
        f"/api/channels/{channel.number}/messages/{number}/files/1",
    ]


async def test_a_file_is_read_at_its_message(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """The message's document says where; type, tag and length are those of the content."""
    for address in await one_file(database, tmp_path, channel, PICTURE):
        answer = await client.get(address)
        assert (answer.status_code, answer.content) == (200, PICTURE)
        told = {name: answer.headers[name] for name in ("content-type", "etag", "content-length", "accept-ranges")}
        assert told == {
            "content-type": "image/png",
            "etag": f'"{digest(PICTURE).hex()}"',
            "content-length": str(len(PICTURE)),
            "accept-ranges": "bytes",
        }
        assert answer.headers["content-disposition"] == 'inline; filename="photo.png"'
        assert answer.headers["cache-control"] == "private, max-age=3600"
    shown = (await client.get("/api/channels/7/messages/1")).json()["files"]
    assert [(one["url"], one["number"], one["type"]) for one in shown] == [
        ("/api/channels/7/messages/1/files/1", 1, "image/png")
    ]
    context = (await client.get("/api/context/7")).json()["messages"][0]["attachments"]
    assert context[0]["url"] == "/api/channels/7/messages/1/files/1"


async def test_ranges_tags_and_head(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """A player can seek, a browser need not load twice, and a head has no body."""
    tag, size = f'"{digest(PICTURE).hex()}"', len(PICTURE)
    for address in await one_file(database, tmp_path, channel, PICTURE):
        some = await client.get(address, headers={"range": "bytes=10-19"})
        assert (some.status_code, some.content) == (206, PICTURE[10:20])
        assert some.headers["content-range"] == f"bytes 10-19/{size}"
        last = await client.get(address, headers={"range": "bytes=-5", "if-range": tag})
        assert (last.status_code, last.content) == (206, PICTURE[-5:])
        other = await client.get(address, headers={"range": "bytes=-5", "if-range": '"another"'})
        assert (other.status_code, other.content) == (200, PICTURE)
        known = await client.get(address, headers={"if-none-match": tag})
        assert (known.status_code, known.content) == (304, b"")
        head = await client.head(address, headers={"range": "bytes=0-3"})
        assert (head.status_code, head.content, head.headers["content-length"]) == (206, b"", "4")


ABSURD = {
    "bytes=99999999-": 416,
    "bytes=-0": 416,
    "bytes=0-0,1-1,2-2,0-999999": 200,
    "bytes=" + ",".join(["0-"] * 1_000): 200,
    "bytes=9-1": 200,
    "bytes=" + "9" * 4_000 + "-": 200,
    "lines=1-2": 200,
    "bytes=0-999999999999999999": 206,
}


async def test_absurd_ranges_are_harmless(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """They give the file once, or nothing; never more than it has."""
    addresses = await one_file(database, tmp_path, channel, PICTURE)
    for address, (asked, status) in product(addresses, ABSURD.items()):
        answer = await client.get(address, headers={"range": asked, "accept": "application/json"})
        assert answer.status_code == status, asked[:50]
        if status == 416:
            assert answer.headers["content-range"] == f"bytes */{len(PICTURE)}"
            assert "in the range" in refused(answer, 416)
        else:
            assert answer.content == PICTURE, asked[:50]


HOSTILE = {
    "page.html": (HTML, "application/octet-stream", "attachment"),
    "drawing.svg": (SVG, "application/octet-stream", "attachment"),
    "drawing.png": (SVG, "application/octet-stream", "attachment"),
    "photo.eps": (EPS, "application/octet-stream", "attachment"),
    "paper.pdf": (PDF_HTML, "application/octet-stream", "attachment"),
    "archive.zip": (ZIP_HTML, "application/octet-stream", "attachment"),
    "script.js": (b"alert(1)", "application/octet-stream", "attachment"),
    "funny.gif": (GIF_SCRIPT, "image/gif", "inline"),
    "photo.html": (PNG_SCRIPT, "image/png", "inline"),
    "photo.htm": (JPEG_HTML, "image/jpeg", "inline"),
    "voice.html": (OGG, "audio/ogg", "inline"),
    "film.svg": (MP4, "video/mp4", "inline"),
    "empty.html": (b"", "application/octet-stream", "attachment"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_no_file_becomes_a_page_or_a_script(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path, name: str
) -> None:
    """Its name says nothing about its type, the browser may not guess, and no policy lets it run anything."""
    content, kind, way = HOSTILE[name]
    for address in await one_file(database, tmp_path, channel, content, name=name):
        for asked in (address, f"{address}?download=true"):
            answer = await client.get(asked, headers={"accept": "text/html"})
            assert (answer.status_code, answer.content) == (200, content)
            downloads = asked != address and not address.startswith("/api")
            expected = ("application/octet-stream", "attachment") if downloads else (kind, way)
            assert answer.headers["content-type"] == expected[0]
            assert answer.headers["content-disposition"].partition(";")[0] == expected[1]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"


NAMES = ("../../../etc/passwd", "..\\..\\win.ini", "a\r\nset-cookie: a=1", "x\u202egnp.exe", '"; x="', "/abs", "%2e%2e")


@pytest.mark.parametrize("name", NAMES)
async def test_no_name_leads_anywhere(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path, name: str
) -> None:
    """Bytes are found by their place and stored by their digest; the name is only what a download is called."""
    for address in await one_file(database, tmp_path, channel, PICTURE, name=name):
        answer = await client.get(address)
        header = answer.headers["content-disposition"]
        assert answer.content == PICTURE
        assert not {"/", "\\", "\u202e", "\n"} & set(header.split('"')[1])
        assert "set-cookie" not in answer.headers
    stored = [one for one in (tmp_path / "media").rglob("*") if one.is_file()]
    assert stored == [tmp_path / "media" / key_of(digest(PICTURE))]


async def test_a_token_reads_files_of_its_own_channels_alone(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Neither by number nor by digest, and not even where the same bytes are in a channel of its own."""
    async with database.transaction() as connection:
        other = await full_channel(connection, 8, "second reader")
    await one_file(database, tmp_path, channel, PICTURE)
    await one_file(database, tmp_path, other, PICTURE, number=2)
    client.headers["authorization"] = f"Bearer {await token(database, 'narrow', channel.key)}"
    own = await client.get("/api/channels/7/messages/1/files/1")
    assert (own.status_code, own.content) == (200, PICTURE)
    sha256 = digest(PICTURE).hex()
    for path in (
        "/api/channels/8/messages/2/files/1",
        "/api/channels/8/messages/2/files/1/thumbnail",
        "/api/channels/7/messages/2/files/1",
        "/api/channels/7/messages/1/files/2",
        f"/api/files/{sha256}",
        f"/api/media/{sha256}",
    ):
        assert refused(await client.get(path), 404)
        assert (await client.head(path)).status_code == 404
    for path in (f"/api/channels/7/messages/1/files/{sha256}", "/api/channels/7/messages/1/files/0"):
        assert (await client.get(path)).status_code == 422


async def test_pages_serve_files_to_the_signed_in_alone(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """A token opens no page, and another message's number no file."""
    [address, _] = await one_file(database, tmp_path, channel, PICTURE)
    assert (await client.get(address)).status_code == 200
    assert (await client.get(address.replace("/messages/1/", "/messages/2/"))).status_code == 404
    client.cookies.clear()
    for path in (address, f"{address}/thumbnail", f"{address}/view", f"/channels/{channel.key}/files"):
        assert (await client.get(path, follow_redirects=False)).status_code in (303, 401), path


async def test_a_file_of_a_deleted_message_has_to_be_asked_for(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """As its text has to; the pages show it, because they show what was deleted."""
    [page, address] = await one_file(database, tmp_path, channel, PICTURE)
    async with database.transaction() as connection:
        await deletions.mark_deleted(connection, channel.key, [MessageId(1)])
    assert (await client.get(address)).status_code == 404
    told = (await client.get("/api/channels/7/messages/1?deleted=true")).json()["files"][0]["url"]
    assert (await client.get(told)).content == PICTURE
    assert (await client.get(page)).content == PICTURE


async def test_what_is_not_there_is_said(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Not kept, lost, another length, a store that is away, and no thumbnail: a sentence each."""
    [_, address] = await one_file(database, tmp_path, channel, PICTURE)
    large = replace(named("film.bin", 2), size=10**9)
    await post(database, tmp_path, channel, [wrote(2, ADA, files=(large, named("b", 3)))], {})
    assert refused(await client.get("/api/channels/7/messages/2/files/1"), 404) == (
        "This file is not kept. The file is larger than the limit for one file."
    )
    assert refused(await client.get("/api/channels/7/messages/2/files/2"), 404) == (
        "This file is not kept. It will be fetched."
    )
    assert refused(await client.get(f"{address}/thumbnail"), 404) == "There is no thumbnail of this file."
    path = tmp_path / "media" / key_of(digest(PICTURE))
    path.write_bytes(PICTURE[:-1])
    assert "missing from the media store" in refused(await client.get(address), 404)
    path.unlink()
    assert "missing from the media store" in refused(await client.get(address), 404)
    path.parent.rmdir()
    path.parent.write_text("no folder")
    away = await client.get(address)
    assert refused(away, 503) == "The media store cannot be read right now. Try again in a moment."
    assert away.headers["retry-after"] == "30"
    assert str(tmp_path) not in away.text


class BreakingStore(LocalStore):
    """Goes away after the first piece of every file."""

    async def read(self, sha256: Sha256, *, offset: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        async for piece in super().read(sha256, offset=offset, length=length):
            yield piece
            raise StoreTrouble("The disk is gone.")


async def test_a_store_that_goes_away_in_between_leaves_no_traceback(
    database: Database, channel: KnownChannel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection is cut, so nobody takes a part for the file; the log says why, without a traceback."""
    tmp_path.chmod(0o700)
    address, _ = await one_file(database, tmp_path, channel, bytes(3 << 20), name="a.bin")
    app = make_app(database, loaded(TIDEGATE_HOME=str(tmp_path)))
    app.state.media_store = BreakingStore(Path(app.state.media_store.name))
    async with answering(app) as client:
        await sign_in(client, database)
        with capture_logs() as lines, pytest.raises(httpx.RemoteProtocolError):
            await client.get(address)
    assert [(line["event"], line["problem"]) for line in lines] == [("web.file_cut_short", "The disk is gone.")]
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_large_file_is_streamed(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """All of it arrives, in pieces as the store reads them."""
    content = bytes(range(256)) * 20_000
    [_, address] = await one_file(database, tmp_path, channel, content, name="large.bin")
    async with client.stream("GET", address) as answer:
        found = b"".join([piece async for piece in answer.aiter_bytes()])
    assert found == content
    assert await LocalStore(tmp_path / "media").size(digest(content)) == len(content)
