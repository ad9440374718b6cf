"""The store in an S3 bucket."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

from tests.media.s3_server import BUCKET, client, endpoint, open_bucket
from tidegate.app.policies import media_store
from tidegate.app.settings import Settings
from tidegate.core.errors import BadInput
from tidegate.core.ids import Sha256
from tidegate.media.local_store import LocalStore
from tidegate.media.s3_store import open_s3_store
from tidegate.media.store import BytesMissing, MediaStore, StoreTrouble, key_of

__all__ = ["endpoint"]  # a fixture

CONTENT = bytes(range(256)) * 9_000


@pytest.fixture
def store(endpoint: str) -> MediaStore:
    """A prefix of the test's own."""
    return open_bucket(endpoint, uuid4().hex)


def written(folder: Path, content: bytes) -> tuple[Path, Sha256]:
    path = folder / "new"
    path.write_bytes(content)
    return path, Sha256(sha256(content).digest())


async def read(store: MediaStore, digest: Sha256, **part: int) -> bytes:
    return b"".join([piece async for piece in store.read(digest, **part)])


async def test_bytes_come_back(store: MediaStore, tmp_path: Path) -> None:
    """What was put can be read, in whole and in part, and is listed; putting it again changes nothing."""
    for _ in range(2):
        path, digest = written(tmp_path, CONTENT)
        await store.put(path, digest)
        assert not path.exists()
    assert await read(store, digest) == CONTENT
    assert await read(store, digest, offset=1_000_000, length=1_100_000) == CONTENT[1_000_000:2_100_000]
    assert await read(store, digest, offset=len(CONTENT)) == b""
    assert await store.size(digest) == len(CONTENT)
    assert [(one.sha256, one.size) async for one in store.entries()] == [(digest, len(CONTENT))]
    assert store.free() is None


async def test_a_large_file_is_put_in_parts(store: MediaStore, tmp_path: Path) -> None:
    """More than one part of an upload gives one entry with all bytes."""
    content = CONTENT * 12
    path, digest = written(tmp_path, content)
    await store.put(path, digest)
    assert sha256(await read(store, digest)).digest() == digest


async def test_what_is_not_there(store: MediaStore) -> None:
    """Missing bytes are said so; deleting them is no error."""
    digest = Sha256(bytes(32))
    assert await store.size(digest) is None
    await store.delete(digest)
    with pytest.raises(BytesMissing):
        await read(store, digest)


async def test_deleted_bytes_are_gone(store: MediaStore, tmp_path: Path) -> None:
    """A deleted entry is neither read nor listed; others stay."""
    path, digest = written(tmp_path, b"one")
    await store.put(path, digest)
    path, other = written(tmp_path, b"two")
    await store.put(path, other)
    await store.delete(digest)
    assert await store.size(digest) is None
    assert [one.sha256 async for one in store.entries()] == [other]


async def test_foreign_objects_are_left_alone(store: MediaStore, endpoint: str, tmp_path: Path) -> None:
    """What no digest names is not an entry."""
    bucket = client(endpoint)
    prefix = store.name.rpartition("/")[2]
    bucket.put_object(Bucket=BUCKET, Key=f"{prefix}/README", Body=b"x")
    bucket.put_object(Bucket=BUCKET, Key=f"{prefix}/zz/{key_of(Sha256(bytes(32)))}", Body=b"x")
    assert [one async for one in store.entries()] == []


async def test_a_store_that_is_away_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trouble of the store names it, shows no key, and leaves the file where it is."""
    monkeypatch.setattr("tidegate.media.s3_store._RETRIES", {"max_retries": 0})
    store = open_s3_store("s3://harbour/x?endpoint=http://127.0.0.1:1", key="key", secret="hidden")
    path, digest = written(tmp_path, b"x")
    with pytest.raises(StoreTrouble, match="s3://harbour/x cannot be used") as trouble:
        await store.put(path, digest)
    assert "hidden" not in str(trouble.value)
    assert path.exists()


async def test_a_wrong_key_is_a_sentence(store: MediaStore, endpoint: str, tmp_path: Path) -> None:
    """The server refuses every request that is signed with another key; neither key is shown."""
    path, digest = written(tmp_path, b"x")
    await store.put(path, digest)
    path, _ = written(tmp_path, b"x")
    other = open_bucket(endpoint, store.name.rpartition("/")[2], secret="another key")
    for asked in (other.put(path, digest), other.size(digest), read(other, digest), other.delete(digest)):
        with pytest.raises(StoreTrouble, match="cannot be used") as trouble:
            await asked
        assert "another key" not in str(trouble.value)
    assert await read(store, digest) == b"x"
    assert path.exists()


def test_a_missing_library_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the command that installs it."""
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(BadInput, match=r"tidegate\[s3\]"):
        open_s3_store("s3://harbour", key=None, secret=None)


@pytest.mark.parametrize("address", ["s3://", "gs://bucket", "s3://bucket?key=secret"])
def test_an_address_that_means_nothing_is_refused(address: str) -> None:
    """Keys are settings of their own, and never a part of the address."""
    with pytest.raises(BadInput, match="s3://BUCKET/PREFIX"):
        open_s3_store(address, key=None, secret=None)


def test_one_setting_chooses_the_store(tmp_path: Path) -> None:
    """Without it files are in the data folder."""
    assert isinstance(media_store(Settings(home=tmp_path)), LocalStore)
    chosen = media_store(Settings(home=tmp_path, media_store="s3://harbour/kept", media_key="k", media_secret="s"))
    assert chosen.name == "s3://harbour/kept"
