"""All routes of the API, and the OpenAPI document that describes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response

from tidegate import __version__
from tidegate.web.api.accounts import accounts
from tidegate.web.api.archives import archives
from tidegate.web.api.calls_feed_settings import operations
from tidegate.web.api.channels import channels
from tidegate.web.api.commands import commands
from tidegate.web.api.context import contexts
from tidegate.web.api.messages import known_people, messages
from tidegate.web.api.reminder_files import uploads
from tidegate.web.api.reminders import reminders
from tidegate.web.api.runs import runs
from tidegate.web.api.search import found_messages
from tidegate.web.api.target_lists import target_lists
from tidegate.web.api.tokens import own_tokens
from tidegate.web.server.request_bodies import ApiRouter
from tidegate.web.site_address import site_of

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

api = ApiRouter()
api.take_in(
    accounts,
    channels,
    commands,
    archives,
    messages,
    found_messages,
    contexts,
    known_people,
    reminders,
    target_lists,
    uploads,
    runs,
    operations,
    own_tokens,
)


@api.get("/openapi.json", include_in_schema=False)
async def describe(request: Request) -> Response:
    """The OpenAPI document. It needs no token, because it describes the program and no data."""
    return JSONResponse({**document(), "servers": [{"url": site_of(request).prefix or "/"}]})


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of all routes."""
    made = get_openapi(title="Tidegate", version=__version__, summary=__doc__, routes=api.routes)
    made.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    return made
