"""Files in an S3 store from their message to the browser: fetched, verified, repaired, swept and served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.media.fetching_scene import MediaScene
from tests.media.s3_server import BUCKET, address, client, endpoint, open_bucket
from tests.scenes.telegram_mirror import Mirror
from tests.web.visiting import loaded, sign_in
from tests.web.web_client import answering
from tidegate.core.ids import Sha256
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.file_content import File
from tidegate.media import store_maintenance
from tidegate.media.file_fetcher import MediaSetup
from tidegate.media.queries import media_blobs
from tidegate.media.store import MediaStore, key_of
from tidegate.media.thumbnails.thumbnail_loop import ThumbnailLoop
from tidegate.web import make_app

__all__ = ["endpoint"]  # a fixture

MIB = 1 << 20
AT_ONCE = timedelta(seconds=-60)


@pytest.fixture
def prefix() -> str:
    """A part of the bucket that is the test's own."""
    return uuid4().hex


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path, endpoint: str, prefix: str) -> MediaScene:
    """A channel that is mirrored in full, and whose files are kept in the bucket."""
    channel = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(channel, in_full=True)
    made = MediaScene(mirror, channel, tmp_path / "media")
    made.setup = MediaSetup(open_bucket(endpoint, prefix), made.setup.work)
    return made


@pytest.fixture
async def pages(scene: MediaScene, endpoint: str, prefix: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in; the settings name the bucket."""
    keys = {"TIDEGATE_MEDIA_KEY": "key", "TIDEGATE_MEDIA_SECRET": "secret"}
    tmp_path.chmod(0o700)
    settings = loaded(TIDEGATE_HOME=str(tmp_path), TIDEGATE_MEDIA_STORE=address(endpoint, prefix), **keys)
    app = make_app(scene.mirror.database, settings)
    async with answering(app) as opened:
        await sign_in(opened, scene.mirror.database)
        yield opened


def digest(file: File) -> Sha256:
    return Sha256(bytes.fromhex(file.sha256()))


async def listed(store: MediaStore) -> set[Sha256]:
    return {one.sha256 async for one in store.entries()}


async def test_files_are_fetched_into_the_bucket_and_verified(scene: MediaScene) -> None:
    """Small and large ones, every byte; nothing of them stays on the disk."""
    files = [scene.world.add_photo("harbour"), scene.world.add_file("film.bin", 18 * MIB + 5)]
    await scene.mirrored(*files)
    assert (await scene.fetch()).kept == 2
    store, database = scene.setup.store, scene.mirror.database
    assert await listed(store) == {digest(file) for file in files}
    report = await store_maintenance.verify(database, store, repair=False)
    assert (report.is_sound, report.checked, report.orphans) == (True, 2, 0)
    assert report.bytes == sum(file.size for file in files)
    assert [path for path in scene.folder.rglob("*") if path.is_file()] == []


async def test_lost_and_changed_objects_are_found_and_fetched_again(
    scene: MediaScene, endpoint: str, prefix: str
) -> None:
    """Somebody deleted one object and changed another of the same length."""
    lost, changed = scene.world.add_file("a.bin", 5_000), scene.world.add_file("b.bin", 6_000)
    await scene.mirrored(lost, changed)
    await scene.fetch()
    bucket = client(endpoint)
    bucket.delete_object(Bucket=BUCKET, Key=f"{prefix}/{key_of(digest(lost))}")
    bucket.put_object(Bucket=BUCKET, Key=f"{prefix}/{key_of(digest(changed))}", Body=bytes(6_000))
    store, database = scene.setup.store, scene.mirror.database
    found = await store_maintenance.verify(database, store, repair=False)
    assert (found.missing, found.damaged) == (1, 1)
    assert (await store_maintenance.verify(database, store, repair=True)).wanted_again == 2
    assert (await scene.fetch()).kept == 2
    assert (await store_maintenance.verify(database, store, repair=False)).is_sound


async def test_orphans_and_unused_objects_are_swept(scene: MediaScene, endpoint: str, prefix: str) -> None:
    """Bytes without a row, and those that no file has any more; foreign objects and kept files stay."""
    first, second = scene.world.add_file("a.bin", 5_000), scene.world.add_file("b.bin", 6_000)
    await scene.mirrored(first, second)
    await scene.fetch()
    orphan = scene.world.add_file("c.bin", 7_000)
    bucket = client(endpoint)
    bucket.put_object(Bucket=BUCKET, Key=f"{prefix}/{key_of(digest(orphan))}", Body=orphan.read(0, 7_000))
    bucket.put_object(Bucket=BUCKET, Key=f"{prefix}/README", Body=b"ours")
    database = scene.mirror.database
    async with database.transaction() as connection:
        await media_blobs.remove(connection, digest(first), block=False)
    report = await store_maintenance.sweep(database, scene.setup, grace=AT_ONCE)
    assert report.orphans == 2, "the removed one is without a row as well"
    assert await listed(scene.setup.store) == {digest(second)}
    assert bucket.get_object(Bucket=BUCKET, Key=f"{prefix}/README")["Body"].read() == b"ours"


async def test_files_of_the_bucket_are_served(scene: MediaScene, pages: httpx.AsyncClient, tmp_path: Path) -> None:
    """Whole, in ranges and as a thumbnail; one that is lost is a sentence."""
    picture, film = scene.world.add_photo("harbour"), scene.world.add_file("film.bin", 3 * MIB)
    await scene.mirrored(picture, film)
    await scene.fetch()
    drawn = ThumbnailLoop(scene.mirror.database, scene.setup.store, tmp_path / "drawn")
    assert await drawn.make_missing() == 1
    rows = await scene.mirror.rows("SELECT channel, message, file FROM attachments")
    at = {row["file"]: f"/channels/{row['channel']}/messages/{row['message']}/files/1" for row in rows}
    for file in (picture, film):
        answer = await pages.get(at[file.id])
        assert (answer.status_code, answer.content) == (200, file.read(0, file.size))
    some = await pages.get(at[film.id], headers={"range": f"bytes={MIB - 5}-{MIB + 4}"})
    assert (some.status_code, some.content) == (206, film.read(MIB - 5, 10))
    small = await pages.get(f"{at[picture.id]}/thumbnail")
    assert (small.status_code, small.headers["content-type"]) == (200, "image/webp")
    await scene.setup.store.delete(digest(film))
    lost = await pages.get(at[film.id])
    assert (lost.status_code, "missing from the media store" in lost.text) == (404, True)


async def test_a_bucket_that_is_away_pauses_files_alone(
    scene: MediaScene, endpoint: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts are mirrored meanwhile; once it is back, what was fetched before is stored without another call."""
    monkeypatch.setattr("tidegate.media.s3_store._RETRIES", {"max_retries": 0})
    back = scene.setup
    scene.setup = MediaSetup(open_bucket("http://127.0.0.1:1", prefix), back.work)
    file = scene.world.add_file("a.bin", 50_000)
    await scene.mirrored(file)
    paused = (await scene.fetch()).paused
    assert paused is not None
    assert f"s3://{BUCKET}/{prefix} cannot be used" in paused
    scene.world.post(scene.channel, "low tide")
    await scene.mirrored()
    assert (await scene.texts())[-1] == "low tide"
    scene.setup = back
    async with scene.mirror.counted() as calls:
        assert (await scene.fetch()).kept == 1
    assert calls == {}
    assert await listed(back.store) == {digest(file)}
    assert await scene.told() == ["media.paused", "media.kept", "media.resumed"]
