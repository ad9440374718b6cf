"""The files of a channel by kind and state, a page at a time."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.history.rich_messages import ADA, file, wrote
from tests.media.kept_files import post
from tests.media.picture_samples import OGG, picture
from tests.media.stored_media import full_channel
from tests.web.visiting import loaded, sign_in
from tests.web.web_client import answering
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Database
from tidegate.media.queries import media_rules
from tidegate.platforms.interface import FileForm
from tidegate.web import make_app

PAGE = 60


@pytest.fixture
async def channel(database: Database) -> KnownChannel:
    """A channel whose files are kept."""
    async with database.transaction() as connection:
        return await full_channel(connection, 7)


@pytest.fixture
async def client(database: Database, channel: KnownChannel, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in."""
    tmp_path.chmod(0o700)
    async with answering(make_app(database, loaded(TIDEGATE_HOME=str(tmp_path)))) as opened:
        await sign_in(opened, database)
        yield opened


async def shown(client: httpx.AsyncClient, address: str) -> tuple[list[int], str | None]:
    """The messages whose files a page of the gallery shows, and where "Older files" leads."""
    page = await client.get(address)
    assert page.status_code == 200
    older = re.search(r'href="([^"]+)">Older files', page.text)
    listed = page.text.partition('<ul class="gallery">')[2].partition("</ul>")[0]
    numbers = [int(number) for number in re.findall(r"around=(\d+)#m", listed)]
    return numbers, None if older is None else older[1].replace("&amp;", "&")


async def test_files_are_filtered_by_kind_and_state(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Each filter shows its own, and both together what fits both."""
    image, voice, large = FileForm.IMAGE, FileForm.VOICE, 10**9
    told = [
        wrote(1, ADA, files=(file(1, "", image),)),
        wrote(2, ADA, files=(file(2, "", voice),)),
        wrote(3, ADA, files=(file(3, "", image),)),
        wrote(4, ADA, files=(replace(file(4, "film.bin", FileForm.FILE), size=large),)),
        wrote(5, ADA, files=(replace(file(5, "", image), size=large),)),
    ]
    await post(database, tmp_path, channel, told, {1: picture(), 2: OGG})
    at = f"/channels/{channel.key}/files"
    expected = {
        "": [5, 4, 3, 2, 1],
        "?kind=picture": [5, 3, 1],
        "?kind=voice": [2],
        "?kind=video": [],
        "?state=kept": [2, 1],
        "?state=wanted": [3],
        "?state=skipped": [5, 4],
        "?kind=picture&state=kept": [1],
        "?kind=picture&state=skipped": [5],
        "?kind=&state=": [5, 4, 3, 2, 1],
    }
    assert {asked: (await shown(client, at + asked))[0] for asked in expected} == expected
    for wrong in ("?kind=songs", "?state=lost", "?before=x"):
        assert (await client.get(at + wrong)).status_code == 422


async def test_older_files_are_a_press_away_and_keep_the_filter(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """From page to page every file once, also where files of other kinds are between them."""
    told = [
        wrote(n, ADA, files=(file(n, "", FileForm.IMAGE if n % 2 else FileForm.VOICE),))
        for n in range(1, 4 * PAGE + 11)
    ]
    await post(database, tmp_path, channel, told, {})
    pictures = [message.id for message in reversed(told) if message.id % 2]
    seen: list[int] = []
    address: str | None = f"/channels/{channel.key}/files?kind=picture&state=wanted"
    while address is not None:
        numbers, address = await shown(client, address)
        assert len(numbers) <= PAGE
        seen += numbers
    assert seen == pictures


async def test_files_that_nobody_decided_about_are_among_those_not_kept(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """While media are off files are only named; the filter finds them by what the page says of them."""
    async with database.transaction() as connection:
        await media_rules.set_state(connection, enabled=False)
    await post(database, tmp_path, channel, [wrote(1, ADA, files=(file(1, "", FileForm.IMAGE),))], {})
    at = f"/channels/{channel.key}/files"
    assert [(await shown(client, f"{at}?state={state}"))[0] for state in ("", "skipped", "kept")] == [[1], [1], []]
