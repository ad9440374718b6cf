"""A stored file as a response: its type by content, shown or downloaded, whole or a range, and never run.

Everything here was sent by a stranger. Only types on a list are shown, no type is guessed by the browser, and the
content policy gives a file that is opened by itself no script, no form and no origin.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus

import structlog
from fastapi import HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Send

from tidegate.media.queries.avatars import KeptAvatar
from tidegate.media.queries.served_files import ServedBytes, ServedFile
from tidegate.media.store import BytesMissing, MediaStore, StoreTrouble
from tidegate.web.rules.file_response_headers import (
    DOWNLOADED_AS,
    ByteRange,
    NoSuchBytes,
    disposition,
    is_inline,
    named_tag,
    read_range,
)

FILE_POLICY = "sandbox; default-src 'none'"
"""The content policy of a file that is opened in a tab of its own."""

_LOST = "The bytes of this file are missing from the media store. The operator can ask for them again."
_AWAY = "The media store cannot be read right now. Try again in a moment."
_AGAIN = {"Retry-After": "30"}
_CACHED = "private, max-age=3600"

_log = structlog.get_logger(__name__)


async def file_response(request: Request, found: ServedFile, *, download: bool = False) -> Response:
    """The file itself; a sentence where it is not kept."""
    if found.whole is None:
        sentence = "It will be fetched." if found.state == "wanted" else found.reason
        raise HTTPException(HTTPStatus.NOT_FOUND, f"This file is not kept. {sentence}".strip())
    return await _sent(request, found.whole, found.name, download=download)


async def thumbnail_response(request: Request, found: ServedFile) -> Response:
    """The small picture of the file."""
    if found.thumbnail is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "There is no thumbnail of this file.")
    return await _sent(request, found.thumbnail, "thumbnail", download=False)


async def avatar_response(request: Request, found: KeptAvatar | None, *, of: int) -> Response:
    """The picture of a person, a channel or a server by the number *of*; the small one of a large picture."""
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"No picture of {of} is kept.")
    return await _sent(request, found.small or found.whole, "avatar", download=False)


async def _sent(request: Request, kept: ServedBytes, name: str, *, download: bool) -> Response:
    shown = is_inline(kept.type) and not download
    tag = f'"{kept.sha256.hex()}"'
    headers = {
        "Content-Type": kept.type if shown else DOWNLOADED_AS,
        "Content-Disposition": disposition(name, inline=shown),
        "Content-Security-Policy": FILE_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": _CACHED,
        "Vary": "Cookie, Authorization",
        "ETag": tag,
        "Accept-Ranges": "bytes",
    }
    if named_tag(request.headers.get("if-none-match"), tag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    store: MediaStore = request.app.state.media_store
    await _require_bytes(store, kept)
    asked = request.headers.get("range") if request.headers.get("if-range", tag) == tag else None
    try:
        part = read_range(asked, kept.size)
    except NoSuchBytes:
        whole = {"Content-Range": f"bytes */{kept.size}"}
        sentence = f"The file has {kept.size} bytes, and none of them is in the range."
        raise HTTPException(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, sentence, whole) from None
    return await _streamed(request, store, kept, part, headers)


async def _require_bytes(store: MediaStore, kept: ServedBytes) -> None:
    """Refuse before anything is sent, because nothing can be taken back afterwards."""
    try:
        stored = await store.size(kept.sha256)
    except StoreTrouble as problem:
        _log.warning("web.media_store_away", store=store.name, problem=str(problem))
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _AWAY, _AGAIN) from problem
    if stored != kept.size:
        raise HTTPException(HTTPStatus.NOT_FOUND, _LOST)


async def _streamed(
    request: Request, store: MediaStore, kept: ServedBytes, part: ByteRange | None, headers: dict[str, str]
) -> Response:
    some = part or ByteRange(0, kept.size)
    headers["Content-Length"] = str(some.length)
    if part is not None:
        headers["Content-Range"] = f"bytes {part.first}-{part.first + part.length - 1}/{kept.size}"
    status = HTTPStatus.OK if part is None else HTTPStatus.PARTIAL_CONTENT
    if request.method == "HEAD" or not some.length:
        return Response(status_code=status, headers=headers)
    pieces = aiter(store.read(kept.sha256, offset=some.first, length=some.length))
    try:
        first = await anext(pieces)
    except (BytesMissing, StopAsyncIteration) as problem:
        raise HTTPException(HTTPStatus.NOT_FOUND, _LOST) from problem
    except StoreTrouble as problem:
        _log.warning("web.media_store_away", store=store.name, problem=str(problem))
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _AWAY, _AGAIN) from problem
    return _FileStream(_all(first, pieces), status, headers)


class _FileStream(StreamingResponse):
    """Stops where the store goes away; the server cuts a connection whose response is incomplete."""

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        except StoreTrouble as problem:
            _log.warning("web.file_cut_short", problem=str(problem))


async def _all(first: bytes, others: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for one in others:
        yield one
