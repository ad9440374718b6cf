"""The files that pages load: style, script, icon and htmx, all from inside the package.

A page asks for them by name and content (``?v=…``), so that browsers keep them for good and still notice an upgrade.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib.resources import files

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

HTMX = "htmx-2.0.11.min.js"
HTMX_SHA256 = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""Of the file as npm's package htmx.org@2.0.11 has it; its licence (0BSD) lies beside it."""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_FOR_GOOD = "public, max-age=31536000, immutable"

assets = APIRouter()


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    content: bytes
    media_type: str
    version: str


@cache
def all_assets() -> dict[str, Asset]:
    """Every file there is; nothing else is ever sent, whatever the path says."""
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
