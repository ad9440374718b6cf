"""The files that pages load: style, script, icon and htmx, all from inside the package.

A page asks for them by name and content (``?v=…``), so that browsers cache them for ever and still notice an upgrade.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib.resources import files

from fastapi import HTTPException
from fastapi.responses import Response

from tidegate.web.server.request_bodies import Router

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_FOR_GOOD = "public, max-age=31536000, immutable"

assets = Router()


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    content: bytes
    media_type: str
    version: str  # another one for another content


@cache
def all_assets() -> dict[str, Asset]:
    """All files by name; no other file can be requested."""
    found = {}
    for file in files("tidegate.web").joinpath("static").iterdir():
        ending = file.name[file.name.rfind(".") :]
        if ending in _TYPES:
            content = file.read_bytes()
            found[file.name] = Asset(content, _TYPES[ending], hashlib.sha256(content).hexdigest()[:16])
    return found


@assets.get("/static/{name}", include_in_schema=False)
async def asset(name: str) -> Response:
    found = all_assets().get(name)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": _FOR_GOOD})
