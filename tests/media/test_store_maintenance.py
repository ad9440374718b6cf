"""The store and the database compared: hashes checked, orphans swept, files removed, and both joined again."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from tests.media.fetching_scene import MediaScene
from tests.scenes.telegram_mirror import Mirror
from tidegate.core.ids import Sha256
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.file_content import File
from tidegate.media import store_maintenance
from tidegate.media.store import StoreTrouble, key_of
from tidegate.media.store_maintenance import SweepReport, VerifyReport


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> MediaScene:
    """Three files are kept."""
    channel = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(channel, in_full=True)
    made = MediaScene(mirror, channel, tmp_path / "media")
    await made.mirrored(*(world.add_content(f"{name}.bin", name.encode() * 1_000) for name in "abc"))
    assert (await made.fetch()).kept == 3
    return made


def digest(file: File) -> Sha256:
    return Sha256(bytes.fromhex(file.sha256()))


def path_of(scene: MediaScene, sha256_: Sha256) -> Path:
    return scene.folder / key_of(sha256_)


async def test_all_is_well(scene: MediaScene) -> None:
    """Every hash is checked, and nothing is found."""
    report = await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)
    assert (report, report.is_sound) == (VerifyReport(checked=3, bytes=3_000), True)


async def test_lost_and_damaged_files_are_found_and_fetched_again(scene: MediaScene) -> None:
    """A missing file and one with a changed byte are told apart, and a repair brings both back."""
    lost, damaged, _ = await scene.kept()
    files = scene.world.files
    path_of(scene, digest(files[lost])).unlink()
    path_of(scene, digest(files[damaged])).write_bytes(b"x" * 1_000)
    store, database = scene.setup.store, scene.mirror.database
    report = await store_maintenance.verify(database, store, repair=False)
    assert (report.missing, report.damaged, report.wanted_again) == (1, 1, 0)
    quick = await store_maintenance.verify(database, store, repair=False, quick=True)
    assert (quick.missing, quick.damaged) == (1, 0), "a quick look compares sizes"
    assert (await store_maintenance.verify(database, store, repair=True)).wanted_again == 2
    assert (await scene.fetch()).kept == 2
    assert (await store_maintenance.verify(database, store, repair=False)).is_sound


async def test_a_database_without_its_media_is_joined_again(scene: MediaScene) -> None:
    """The store of a restored database is empty: all files are missing, until they are restored or fetched again."""
    away = scene.folder.with_name("away")
    shutil.move(scene.folder, away)
    report = await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)
    assert (report.checked, report.missing) == (3, 3)
    shutil.rmtree(scene.folder, ignore_errors=True)
    shutil.move(away, scene.folder)
    assert (await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)).is_sound
    rows = await scene.mirror.rows("SELECT count(*) AS number FROM media_blobs WHERE missing_at IS NOT NULL")
    assert rows[0]["number"] == 0


async def test_media_without_their_database_are_joined_again(scene: MediaScene) -> None:
    """Bytes that an older database does not know are orphans, and serve again once their files are fetched."""
    await scene.mirror.database.pool.execute("DELETE FROM media_files")
    await scene.mirror.database.pool.execute("DELETE FROM media_blobs")
    report = await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)
    assert (report.checked, report.orphans, report.orphan_bytes) == (0, 3, 3_000)
    await scene.mirror.database.pool.execute("DELETE FROM media_plans")
    assert (await scene.fetch()).kept == 3
    assert (await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)).orphans == 0


async def test_a_sweep_deletes_orphans_after_a_day(scene: MediaScene) -> None:
    """Bytes that a worker has just stored are left: their row may come in a moment."""
    for name, age in (("new", 0), ("old", 100_000_000)):
        content = name.encode()
        orphan = Sha256(sha256(content).digest())
        path = scene.folder / f"orphan {name}"
        path.write_bytes(content)
        await scene.setup.store.put(path, orphan)
        stamp = path_of(scene, orphan).stat().st_mtime - age
        os.utime(path_of(scene, orphan), (stamp, stamp))
    (scene.setup.work.path / "1 telegram 99 whole.part").write_bytes(b"half")
    (scene.setup.work.path / "not ours").write_bytes(b"")
    report = await store_maintenance.sweep(scene.mirror.database, scene.setup)
    assert report == SweepReport(orphans=1, partial=1, bytes=3)
    assert (await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)).orphans == 1
    await scene.mirror.pass_time(days=2)
    await scene.mirror.database.pool.execute("DELETE FROM media_files WHERE file = (SELECT min(file) FROM media_files)")
    report = await store_maintenance.sweep(scene.mirror.database, scene.setup, grace=timedelta(days=1))
    assert (report.unused, report.orphans) == (1, 1)
    assert (await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)).checked == 2


async def test_a_sweep_leaves_bytes_that_are_used_again(scene: MediaScene) -> None:
    """Bytes of long ago that a worker keeps just now are as new as others, so that no sweep takes them away."""
    number, *_ = await scene.kept()
    pool = scene.mirror.database.pool
    await scene.mirror.pass_time(days=2)
    await pool.execute("DELETE FROM media_files WHERE file = $1", number)
    await scene.mirrored(scene.world.add_content("again.bin", b"a" * 1_000))
    assert (await scene.fetch()).kept == 1
    await pool.execute("DELETE FROM media_files WHERE file = (SELECT max(file) FROM media_files)")
    assert await store_maintenance.sweep(scene.mirror.database, scene.setup) == SweepReport()


async def test_bytes_that_a_store_does_not_delete_are_swept_later(scene: MediaScene) -> None:
    """Trouble of the store leaves the row, by which the next sweep finds the bytes."""
    number, *_ = await scene.kept()
    path = path_of(scene, digest(scene.world.files[number]))
    await scene.mirror.pass_time(days=2)
    await scene.mirror.database.pool.execute("DELETE FROM media_files WHERE file = $1", number)
    path.unlink()
    path.mkdir()  # which is not deleted as a file
    with pytest.raises(StoreTrouble):
        await store_maintenance.sweep(scene.mirror.database, scene.setup, orphans_too=False)
    path.rmdir()
    path.write_bytes(b"a" * 1_000)
    report = await store_maintenance.sweep(scene.mirror.database, scene.setup, orphans_too=False)
    assert report == SweepReport(unused=1, bytes=1_000)
    assert not path.exists()


async def test_a_removed_file_is_gone_from_database_and_store(scene: MediaScene) -> None:
    """Its messages stay, and say that it was removed; the event tells who had it."""
    number, *_ = await scene.kept()
    sha256_ = digest(scene.world.files[number])
    assert await store_maintenance.remove(scene.mirror.database, scene.setup.store, sha256_, block=False) == 1
    assert await scene.setup.store.size(sha256_) is None
    assert (await scene.states())[number] == ("skipped", "removed")
    assert "media.removed" in await scene.told()
    assert await store_maintenance.remove(scene.mirror.database, scene.setup.store, sha256_, block=False) is None
    assert (await scene.fetch()).kept == 0


async def test_a_sweep_of_many_entries_goes_on_behind_its_pages(
    scene: MediaScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page is looked at once, used entries between unused ones stay, and an ended sweep is resumed."""
    monkeypatch.setattr(store_maintenance, "PAGE", 3)
    monkeypatch.setattr(store_maintenance, "DELETED_AT_ONCE", 2)
    await scene.mirrored(*(scene.world.add_file(f"{number}.bin", 1_000) for number in range(12)))
    await scene.fetch()
    kept = await scene.kept()
    gone = sorted(kept)[::2]
    await scene.mirror.rows("UPDATE media_files SET state = 'gone', sha256 = NULL WHERE file = ANY($1)", gone)
    await scene.mirror.pass_time(days=2)
    told: list[int] = []

    def end_early(files: int, _: int) -> None:
        told.append(files)
        if len(told) == 2:
            raise StoreTrouble("ended")

    with pytest.raises(StoreTrouble):
        await store_maintenance.sweep(scene.mirror.database, scene.setup, orphans_too=False, on_swept=end_early)
    rest = await store_maintenance.sweep(scene.mirror.database, scene.setup, orphans_too=False)
    assert told[-1] + rest.unused == len(gone)
    assert {one.sha256.hex() async for one in scene.setup.store.entries()} == {
        sha256 for file, sha256 in kept.items() if file not in gone
    }
    assert (await store_maintenance.verify(scene.mirror.database, scene.setup.store, repair=False)).is_sound
