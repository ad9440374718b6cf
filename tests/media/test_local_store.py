"""The store in a folder: bytes by their digest, complete or not there."""

from __future__ import annotations

import stat
from hashlib import sha256
from pathlib import Path

import pytest

from tidegate.core.ids import Sha256
from tidegate.media.local_store import LocalStore
from tidegate.media.store import BytesMissing, StoreTrouble, key_of


def written(folder: Path, content: bytes, name: str = "new") -> tuple[Path, Sha256]:
    path = folder / name
    path.write_bytes(content)
    return path, Sha256(sha256(content).digest())


async def read(store: LocalStore, digest: Sha256, **part: int) -> bytes:
    return b"".join([piece async for piece in store.read(digest, **part)])


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "media")


async def test_bytes_come_back(store: LocalStore, tmp_path: Path) -> None:
    """What was put can be read, in whole and in part, and is listed."""
    content = bytes(range(256)) * 9_000
    path, digest = written(tmp_path, content)
    await store.put(path, digest)
    assert not path.exists()
    assert await read(store, digest) == content
    assert await read(store, digest, offset=1_000_000, length=1_100_000) == content[1_000_000:2_100_000]
    assert await read(store, digest, offset=len(content)) == b""
    assert await store.size(digest) == len(content)
    assert [(one.sha256, one.size) async for one in store.entries()] == [(digest, len(content))]


async def test_files_and_folders_are_closed_to_others(store: LocalStore, tmp_path: Path) -> None:
    """Nobody but the user of the service can read what is kept."""
    path, digest = written(tmp_path, b"private")
    path.chmod(0o644)
    await store.put(path, digest)
    kept = tmp_path / "media" / key_of(digest)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert {stat.S_IMODE(one.stat().st_mode) for one in kept.parents[:3]} == {0o700}


async def test_the_same_bytes_are_kept_once(store: LocalStore, tmp_path: Path) -> None:
    """Putting the same bytes again is no error; the time of the entry is new, so that no sweep takes it."""
    for name in ("one", "two"):
        path, digest = written(tmp_path, b"same", name)
        await store.put(path, digest)
        assert not path.exists()
    assert [one.sha256 async for one in store.entries()] == [digest]


async def test_what_is_not_there(store: LocalStore) -> None:
    """Missing bytes are said so; deleting them is no error."""
    digest = Sha256(bytes(32))
    assert await store.size(digest) is None
    await store.delete(digest)
    with pytest.raises(BytesMissing):
        await read(store, digest)
    assert [one async for one in store.entries()] == []


async def test_foreign_files_are_left_alone(store: LocalStore, tmp_path: Path) -> None:
    """A file that no digest names is not an entry: neither a partial one nor one that somebody put there."""
    folder = tmp_path / "media" / "ab" / "cd"
    folder.mkdir(parents=True)
    for name in ("README", "0" * 64, ".part"):
        (folder / name).write_bytes(b"x")
    assert [one async for one in store.entries()] == []


async def test_a_folder_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    """Trouble of the disk names the folder, and is trouble of the store and of no file."""
    (tmp_path / "media").write_bytes(b"in the way")
    path, digest = written(tmp_path, b"x")
    with pytest.raises(StoreTrouble, match="media folder cannot be used"):
        await LocalStore(tmp_path / "media").put(path, digest)
    assert path.exists()
