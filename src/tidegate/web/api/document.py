"""All addresses of the API, and the OpenAPI document that describes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response

from tidegate import __version__
from tidegate.web.api.accounts import accounts
from tidegate.web.api.archives import archives
from tidegate.web.api.channels import channels
from tidegate.web.api.commands import commands
from tidegate.web.api.messages import messages
from tidegate.web.api.operations import operations
from tidegate.web.api.reading import reading
from tidegate.web.api.reminders import reminders
from tidegate.web.api.runs import runs
from tidegate.web.api.target_lists import target_lists
from tidegate.web.api.tokens import own_tokens
from tidegate.web.api.uploads import uploads
from tidegate.web.site import site_of

_PROBLEM = {
    "title": "Problem",
    "description": "A refusal as RFC 9457 has it; its detail is a sentence for a person.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}

api = APIRouter(prefix="/api")
for part in (
    accounts,
    channels,
    commands,
    archives,
    messages,
    reading,
    reminders,
    target_lists,
    uploads,
    runs,
    operations,
    own_tokens,
):
    api.include_router(part)


@api.get("/openapi.json", include_in_schema=False)
async def describe(request: Request) -> Response:
    """The document itself, for which no token is needed: it tells of the program and of nobody's data."""
    return JSONResponse({**document(), "servers": [{"url": site_of(request).prefix or "/"}]})


@cache
def document() -> dict[str, Any]:
    """Every address with everything it may answer."""
    made = get_openapi(title="Tidegate", version=__version__, summary=__doc__, routes=api.routes)
    made.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    return made
