"""The page Storage, and the question that an older database asks once."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.history.rich_messages import ADA, file, wrote
from tests.media.kept_files import post, put
from tests.media.picture_samples import OGG, picture
from tests.media.stored_media import full_channel
from tests.web.visiting import HTML, htmx, loaded, sign_in
from tests.web.web_client import answering
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.rules.readable_values import readable_size
from tidegate.database.pool import Database
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import media_pauses, media_rules
from tidegate.platforms.interface import FileForm
from tidegate.web import make_app


@pytest.fixture
async def channel(database: Database) -> KnownChannel:
    """A channel whose files are kept."""
    async with database.transaction() as connection:
        return await full_channel(connection, 7)


@pytest.fixture
async def client(database: Database, channel: KnownChannel, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, with the token of forms."""
    tmp_path.chmod(0o700)
    async with answering(make_app(database, loaded(TIDEGATE_HOME=str(tmp_path)))) as opened:
        opened.headers.update(HTML)
        opened.headers["x-change-token"] = await sign_in(opened, database)
        yield opened


async def change(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    return await client.post(path, data=fields, headers=htmx(client.headers["x-change-token"]))


async def test_what_files_take_is_shown_by_channel_and_kind(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """With totals, the limit, and what nothing would keep today."""
    told = [
        wrote(1, ADA, files=(file(1, "a.jpg", FileForm.IMAGE, size=9),)),
        wrote(2, ADA, files=(file(2, "b.ogg", FileForm.VOICE, size=9), file(3, "c.zip", FileForm.FILE, size=10**9))),
    ]
    await post(database, tmp_path, channel, told, {1: picture(), 2: OGG})
    page = re.sub("<[^>]+>", "", (await client.get("/storage")).text)
    assert "Channel 7" in page
    for words in ("picture", "voice", "document", "chosen by the disk", "1 kept", "1 not kept"):
        assert words in page, words
    assert "Could be freed" not in page
    await change(client, "/storage/policy", kind="voice", action="no")
    page = (await client.get("/storage")).text
    assert "Could be freed" in page
    assert "The policy no longer keeps this kind here." in page
    answer = await change(client, "/storage/free", channel=str(channel.key), kind="voice")
    assert (answer.status_code, "1 file" in answer.headers["tidegate-said"]) == (204, True)
    states = await database.pool.fetch("SELECT kind, state, reason FROM media_files ORDER BY file")
    assert [(row["kind"], row["state"], row["reason"]) for row in states] == [
        ("picture", "kept", ""), ("voice", "skipped", "removed"), ("document", "skipped", "size"),
    ]  # fmt: skip
    [removed] = await database.pool.fetch("SELECT data FROM events WHERE kind = 'media.removed'")
    assert removed["data"]["channel"] == channel.number, "so that events of private chats stay private"
    assert "Could be freed" not in (await client.get("/storage")).text


async def test_files_that_another_channel_keeps_are_not_freed(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """They go over to that channel, with their bytes; once nobody keeps them, they are removed."""
    told = [wrote(1, ADA, files=(file(1, "a.ogg", FileForm.VOICE, size=9),))]
    await post(database, tmp_path, channel, told, {1: OGG})
    async with database.transaction() as connection:
        other = await full_channel(connection, 8, "other")
    await post(database, tmp_path, other, told, {})
    await change(client, "/storage/policy", channel="7", kind="voice", action="no")
    answer = await change(client, "/storage/free", channel=str(channel.key), kind="voice")
    assert "0 files" in answer.headers["tidegate-said"]
    [row] = await database.pool.fetch("SELECT channel, message, state, sha256 FROM media_files")
    assert (row["channel"], row["message"], row["state"], row["sha256"] is None) == (other.key, 1, "kept", False)
    kept = await change(client, "/storage/free", channel=str(other.key), kind="voice")
    assert (kept.status_code, "The policy keeps these files." in kept.text) == (409, True)
    await change(client, "/storage/policy", kind="voice", action="no")
    answer = await change(client, "/storage/free", channel=str(other.key), kind="voice")
    assert "1 file " in answer.headers["tidegate-said"]


async def states(database: Database) -> dict[int, tuple[int, str]]:
    rows = await database.pool.fetch("SELECT file, channel, state FROM media_files ORDER BY file")
    return {row["file"]: (row["channel"], row["state"]) for row in rows}


async def test_files_above_a_lower_limit_can_be_removed(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Those alone, and one that another channel keeps goes over to it, where its limit is higher."""
    sounds = {number: OGG + bytes(number * 1_000) for number in (1, 2, 3, 4)}
    told = [wrote(n, ADA, files=(file(n, "a.ogg", FileForm.VOICE, size=9),)) for n in sounds]
    await post(database, tmp_path, channel, told, sounds)
    async with database.transaction() as connection:
        other = await full_channel(connection, 8, "other")
    await post(database, tmp_path, other, [told[2]], {})
    await change(client, "/storage/policy", channel="7", kind="voice", largest="2500")
    page = re.sub("<[^>]+>", "", (await client.get("/storage")).text)
    assert "The policy no longer keeps files as large as these." in page
    assert f"Could be freed{readable_size(len(sounds[3] + sounds[4]))}" in page
    answer = await change(client, "/storage/free", channel=str(channel.key), kind="voice")
    assert "1 file deleted" in answer.headers["tidegate-said"]
    here = channel.key
    assert await states(database) == {
        1: (here, "kept"), 2: (here, "kept"), 3: (other.key, "kept"), 4: (here, "skipped"),
    }  # fmt: skip
    assert "Could be freed" not in (await client.get("/storage")).text


async def test_the_oldest_files_beyond_the_limit_of_a_channel_can_be_removed(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """As many as it takes, and files of another kind only by their own row."""
    told = [wrote(n, ADA, files=(file(n, "a.ogg", FileForm.VOICE, size=9),)) for n in (1, 2, 3, 4)]
    sounds = {n: OGG + n.to_bytes(1_000) for n in (1, 2, 3, 4)}
    await post(database, tmp_path, channel, told, sounds)
    each = len(sounds[1])
    await change(client, "/storage/policy", channel="7", channel_limit=str(2 * each + 10))
    page = (await client.get("/storage")).text
    assert "The channel has more than its limit: the oldest." in page
    answer = await change(client, "/storage/free", channel=str(channel.key), kind="voice")
    assert "2 files deleted" in answer.headers["tidegate-said"]
    assert [state for _, state in (await states(database)).values()] == ["skipped", "skipped", "kept", "kept"]
    assert "Could be freed" not in (await client.get("/storage")).text


async def test_a_thumbnail_that_the_policy_keeps_is_left(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """Of files that are only kept as thumbnails from now on; one without a thumbnail is deleted as a whole."""
    told = [wrote(n, ADA, files=(file(n, "a.jpg", FileForm.IMAGE, size=9),)) for n in (1, 2)]
    await post(database, tmp_path, channel, told, {1: picture("PNG"), 2: picture("JPEG")})
    small = await put(LocalStore(tmp_path / "media"), tmp_path / "arriving", picture("WEBP"))
    await database.pool.execute(
        "WITH b AS (INSERT INTO media_blobs (sha256, size, type) VALUES ($1, 9, 'image/webp') RETURNING sha256) "
        "UPDATE media_files SET thumbnail = b.sha256 FROM b WHERE file = 1",
        small,
    )
    await change(client, "/storage/policy", kind="picture", action="thumbnail")
    answer = await change(client, "/storage/free", channel=str(channel.key), kind="picture")
    assert "2 files deleted" in answer.headers["tidegate-said"]
    rows = await database.pool.fetch("SELECT state, reason, sha256, thumbnail FROM media_files ORDER BY file")
    assert [tuple(row) for row in rows] == [("skipped", "thumbnail", None, small), ("skipped", "removed", None, None)]


async def test_files_of_a_channel_that_forbids_saving_can_be_removed(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path
) -> None:
    """They were kept while the operator wanted protected files too, or before the channel forbade it."""
    await post(database, tmp_path, channel, [wrote(1, ADA, files=(file(1, "a.ogg", FileForm.VOICE),))], {1: OGG})
    await database.pool.execute("UPDATE channels SET protected = true")
    assert "The channel forbids saving." in (await client.get("/storage")).text
    await change(client, "/storage/limits", keep_protected="true")
    assert "The channel forbids saving." not in (await client.get("/storage")).text
    await change(client, "/storage/limits", keep_protected="false", total_limit="1")
    assert "Over the limit" in (await client.get("/storage")).text
    answer = await change(client, "/storage/free", channel=str(channel.key), kind="voice")
    assert "1 file deleted" in answer.headers["tidegate-said"]


async def test_the_policy_is_changed_here(client: httpx.AsyncClient, database: Database, channel: KnownChannel) -> None:
    """For all channels or one, with limits; a rule can be removed, and bad input changes nothing."""
    assert (await change(client, "/storage/policy", kind="video", action="thumbnail", largest="5MB")).status_code == 204
    assert (await change(client, "/storage/policy", channel="7", action="no")).status_code == 204
    assert (await change(client, "/storage/limits", total_limit="4GB", keep_protected="true")).status_code == 204
    async with database.connection() as connection:
        policy = await media_rules.policy(connection)
    assert [(one.channel, one.kind, one.action, one.largest) for one in policy.rules] == [
        (None, "video", "thumbnail", 5_000_000), (channel.key, None, "no", None),
    ]  # fmt: skip
    assert (policy.state.total_limit, policy.state.keep_protected, policy.state.enabled) == (4 * 10**9, True, True)
    page = (await client.get("/storage")).text
    assert "5.0 MB" in page
    for path, fields in (
        ("/storage/policy", {"kind": "video", "largest": "many"}),
        ("/storage/policy", {"kind": "songs", "action": "no"}),
        ("/storage/policy", {"channel": "nowhere", "action": "no"}),
        ("/storage/policy", {}),
        ("/storage/limits", {"total_limit": "a lot"}),
        ("/storage/free", {"channel": "1", "kind": "songs"}),
        ("/storage/free", {"channel": "999", "kind": "voice"}),
        ("/storage/free", {"channel": str(channel.key), "kind": "voice"}),
    ):
        assert (await change(client, path, **fields)).status_code in (400, 404, 409, 422), (path, fields)
    assert (await change(client, "/storage/policy", kind="video", reset="true")).status_code == 204
    assert (await change(client, "/storage/limits", total_limit="auto")).status_code == 204
    async with database.connection() as connection:
        policy = await media_rules.policy(connection)
    assert ([one.kind for one in policy.rules], policy.state.total_limit) == ([None], None)


async def test_no_other_site_changes_it(client: httpx.AsyncClient) -> None:
    """Every form of the page carries the token of its session."""
    del client.headers["x-change-token"]
    for path in ("/storage/policy", "/storage/limits", "/storage/free", "/storage/decide"):
        assert (await client.post(path, data={"answer": "yes", "enabled": "true"})).status_code == 403


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_an_older_database_asks_once(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel, tmp_path: Path, answer: str
) -> None:
    """Home says what it would cost; after Yes or No it asks no more."""
    await database.pool.execute("UPDATE media_state SET enabled = false, asks = true")
    told = [wrote(n, ADA, files=(file(n, "a.jpg", FileForm.IMAGE, size=2_000_000),)) for n in range(1, 6)]
    await post(database, tmp_path, channel, told, {})
    assert "Keep files" in (await client.get("/")).text
    question = (await client.get("/storage/question")).text
    assert "about 5 files" in question
    assert "10.0 MB" in question
    assert "less than an hour" in question
    assert (await change(client, "/storage/decide", answer="later")).status_code == 204
    assert "Keep files" not in (await client.get("/")).text
    assert "about 5 files" in (await client.get("/storage")).text
    assert (await change(client, "/storage/decide", answer=answer)).status_code == 204
    client.cookies.delete("tidegate_media_later")
    assert "Keep files" not in (await client.get("/")).text
    async with database.connection() as connection:
        policy = await media_rules.policy(connection)
    assert (policy.state.enabled, policy.asks) == (answer == "yes", False)


async def test_a_new_database_asks_nothing(client: httpx.AsyncClient) -> None:
    """Its files are kept from the start."""
    assert "Keep files" not in (await client.get("/")).text
    assert "about" not in (await client.get("/storage/question")).text


async def test_what_files_wait_for_needs_attention(
    client: httpx.AsyncClient, database: Database, channel: KnownChannel
) -> None:
    """Home and the page Storage say why nothing is fetched."""
    assert channel.reader is not None
    async with database.transaction() as connection:
        await media_pauses.note_pause(connection, channel.reader, "the disk", "The disk of harbour-1 is full.")
    for path in ("/", "/overview/needs", "/storage"):
        assert "The disk of harbour-1 is full." in (await client.get(path)).text, path
