"""Bytes in an S3-compatible store, through obstore (the extra ``s3``). Workers on several machines can share it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tidegate.core.errors import BadInput
from tidegate.core.ids import Sha256
from tidegate.media.store import CHUNK, BytesMissing, MediaStore, StoredBytes, StoreTrouble, digest_in, key_of

_OPTIONS = {"endpoint", "region"}
_RETRIES = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
_MISSING_EXTRA = (
    "The setting media_store names an S3 store, and the library for it is not installed. "
    'Run: pip install "tidegate[s3]"'
)


def open_s3_store(address: str, *, key: str | None, secret: str | None) -> MediaStore:
    """The store at ``s3://BUCKET/PREFIX?endpoint=URL&region=NAME``; without keys, those of the environment are used."""
    parts = urlsplit(address)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if parts.scheme != "s3" or not parts.netloc or not options.keys() <= _OPTIONS:
        raise BadInput(
            f"The setting media_store is {address!r}. Write s3://BUCKET/PREFIX, and after it "
            "?endpoint=URL and &region=NAME where the store needs them."
        )
    try:
        s3 = import_module("obstore.store")
        import_module("obstore")
    except ImportError as problem:
        raise BadInput(_MISSING_EXTRA) from problem
    endpoint = options.get("endpoint")
    keys = {"access_key_id": key, "secret_access_key": secret}
    bucket = s3.S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        region=options.get("region", "us-east-1"),
        virtual_hosted_style_request=False,
        client_options={"allow_http": bool(endpoint and endpoint.startswith("http:")), "timeout": "60s"},
        retry_config=_RETRIES,
        **({} if endpoint is None else {"endpoint": endpoint}),
        **{name: value for name, value in keys.items() if value is not None},
    )
    return S3Store(bucket, address.partition("?")[0])


class S3Store:
    """Entries of a bucket (``MediaStore``). An upload that is cut off leaves no entry."""

    def __init__(self, bucket: Any, name: str) -> None:
        self._bucket = bucket
        self._name = name
        self._obstore: Any = import_module("obstore")
        self._errors: Any = import_module("obstore.exceptions")

    @property
    def name(self) -> str:
        return self._name

    def free(self) -> int | None:
        return None

    async def put(self, path: Path, sha256: Sha256) -> None:
        """An entry that is there already is written again, which renews its time: a sweep must not take it."""
        with self._trouble():
            await self._obstore.put_async(self._bucket, key_of(sha256), path, chunk_size=8 * CHUNK, max_concurrency=2)
        await asyncio.to_thread(path.unlink, missing_ok=True)

    async def read(self, sha256: Sha256, *, offset: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        size = await self.size(sha256)
        if size is None:
            raise BytesMissing(f"The store {self._name} has no entry {sha256.hex()}.")
        end = size if length is None else min(size, offset + length)
        if offset >= end:
            return
        with self._trouble():
            found = await self._obstore.get_async(self._bucket, key_of(sha256), options={"range": (offset, end)})
            async for piece in found.stream(min_chunk_size=CHUNK):
                yield bytes(piece)

    async def size(self, sha256: Sha256) -> int | None:
        with self._trouble():
            try:
                found = await self._obstore.head_async(self._bucket, key_of(sha256))
            except FileNotFoundError:
                return None
        return int(found["size"])

    async def delete(self, sha256: Sha256) -> None:
        with self._trouble():
            try:
                await self._obstore.delete_async(self._bucket, key_of(sha256))
            except FileNotFoundError:
                return

    async def entries(self) -> AsyncIterator[StoredBytes]:
        with self._trouble():
            async for some in self._obstore.list(self._bucket):
                for one in some:
                    sha256 = digest_in(one["path"])
                    if sha256 is not None:
                        yield StoredBytes(sha256, int(one["size"]), one["last_modified"])

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Turn an error of the store into a sentence; the library's own text may have addresses in it, and no keys."""
        try:
            yield
        except (self._errors.BaseError, OSError) as problem:
            said = str(problem).partition("\n")[0][:300]
            raise StoreTrouble(f"The media store {self._name} cannot be used: {said}") from problem
