"""Pictures of people and channels as they are shown, and who may read them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.history.rich_messages import ADA, BOB, wrote
from tests.media.kept_files import keep, put
from tests.media.picture_samples import SVG, picture
from tests.media.stored_media import full_channel, stored
from tests.web.api_client import refused, token
from tests.web.visiting import loaded, sign_in
from tests.web.web_client import answering
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import FileId
from tidegate.core.message_content import Avatar, Person
from tidegate.database.pool import Database
from tidegate.media import avatars
from tidegate.media.local_store import LocalStore
from tidegate.people.queries import people
from tidegate.platforms.interface import Channel
from tidegate.web import make_app

FACE, OTHER_FACE, FLAG = picture("PNG", (64, 64)), picture("JPEG"), picture("WEBP")


def with_picture(person: Person, number: int) -> Person:
    return replace(person, avatar=Avatar(person.id, FileId(number), f"handle {number}"))


async def wrote_with_picture(
    database: Database, home: Path, channel: KnownChannel, who: Collection[tuple[Person, bytes]]
) -> None:
    """Each of these people writes in a channel, and their pictures have arrived; file 71 is that of the first."""
    told = [wrote(n, with_picture(person, 70 + n), f"ahoy {n}") for n, (person, _) in enumerate(who, 1)]
    contents = {70 + n: content for n, (_, content) in enumerate(who, 1)}
    for content in contents.values():
        await put(LocalStore(home / "media"), home / "arriving", content)
    async with database.transaction() as connection:
        await stored(connection, channel, *told)
        await people.store(connection, channel.key, [person for person, _ in who])
        await avatars.note_authors(connection, channel.key, told)
        await keep(connection, channel, contents)


@pytest.fixture
async def channel(database: Database) -> KnownChannel:
    """A channel whose files are kept."""
    async with database.transaction() as connection:
        return await full_channel(connection, 7)


@pytest.fixture
async def client(database: Database, channel: KnownChannel, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in at the pages."""
    tmp_path.chmod(0o700)
    async with answering(make_app(database, loaded(TIDEGATE_HOME=str(tmp_path)))) as opened:
        await sign_in(opened, database)
        yield opened


def avatar_at(person: Person, *, api: bool = True) -> str:
    return f"{'/api' if api else ''}/people/telegram/{person.id}/avatar"


async def test_a_narrow_token_reads_pictures_of_those_who_wrote_in_its_channel(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Of somebody in another channel alone it learns nothing, not even whether there is a picture."""
    async with database.transaction() as connection:
        other = await full_channel(connection, 8, "second reader")
    await wrote_with_picture(database, tmp_path, channel, [(ADA, FACE)])
    await wrote_with_picture(database, tmp_path, other, [(ADA, FACE), (BOB, OTHER_FACE)])
    client.headers["authorization"] = f"Bearer {await token(database, 'narrow', channel.key)}"
    answer = await client.get(avatar_at(ADA))
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, "image/png", FACE)
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["cache-control"].startswith("private")
    nobody = replace(ADA, id=type(ADA.id)(999))
    hidden, unknown = await client.get(avatar_at(BOB)), await client.get(avatar_at(nobody))
    assert refused(hidden, 404).replace(str(BOB.id), "N") == refused(unknown, 404).replace("999", "N")
    assert (await client.get(f"/api/people/telegram/{BOB.id}")).status_code == 404
    client.headers["authorization"] = f"Bearer {await token(database, 'wide')}"
    assert (await client.get(avatar_at(BOB))).content == OTHER_FACE


async def test_pictures_are_shown_beside_messages_and_on_pages(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Where one is kept there is a picture, and a letter where none is."""
    await wrote_with_picture(database, tmp_path, channel, [(ADA, FACE)])
    async with database.transaction() as connection:
        await stored(connection, channel, wrote(5, BOB, "no picture"))
        shown = Channel(channel.number, "News", avatar=Avatar(-7, FileId(90), "handle 90"))
        await avatars.note_channels(connection, "telegram", [shown])
        await put(LocalStore(tmp_path / "media"), tmp_path / "arriving", FLAG)
        await keep(connection, channel, {90: FLAG})
    page = (await client.get(f"/channels/{channel.key}/messages")).text
    assert f'src="{avatar_at(ADA, api=False)}"' in page
    assert avatar_at(BOB, api=False) not in page
    assert f'src="/channels/{channel.key}/avatar"' in page
    assert avatar_at(ADA, api=False) in (await client.get(f"/people/telegram/{ADA.id}")).text
    for address, content in ((avatar_at(ADA, api=False), FACE), (f"/channels/{channel.key}/avatar", FLAG)):
        answer = await client.get(address)
        assert (answer.status_code, answer.content) == (200, content)
    client.cookies.clear()
    for address in (avatar_at(ADA, api=False), f"/channels/{channel.key}/avatar"):
        assert (await client.get(address)).status_code in (303, 401)


async def test_what_only_pretends_to_be_a_picture_is_a_download(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """A picture of somebody is as little trusted as any other file."""
    await wrote_with_picture(database, tmp_path, channel, [(ADA, SVG)])
    answer = await client.get(avatar_at(ADA, api=False))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
