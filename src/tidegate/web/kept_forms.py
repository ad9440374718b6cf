"""A form that was sent after its sign-in had ended: the pages carry it along until it can be sent, so nothing is lost.

Only what a page of ours sent is carried, and it is sent by nobody but the person who presses the button then.
"""

from __future__ import annotations

import json

from fastapi import Request
from fastapi.responses import Response
from pydantic import TypeAdapter, ValidationError

from tidegate.web.rendering import CHANGE_FIELD, is_htmx, page

_SECRET = {"password", "current", "answer"}  # typed again rather than written into a page
_PAIRS = TypeAdapter(list[tuple[str, str]])


async def carried(request: Request) -> str:
    """What the form of *request* has, for another form to carry; empty where there is nothing worth it, or a secret."""
    if request.method != "POST" or is_htmx(request):
        return ""
    pairs = [(name, value) for name, value in (await request.form()).multi_items() if isinstance(value, str)]
    typed = [(name, value) for name, value in pairs if name != CHANGE_FIELD]
    return "" if _SECRET & {name for name, _ in typed} or not typed else json.dumps(typed)


def show_again(request: Request, path: str, carried_along: str) -> Response | None:
    """The page from which the form can be sent to *path* after all; None where nothing readable was carried along."""
    try:
        pairs = _PAIRS.validate_json(carried_along)
    except ValidationError:
        return None
    return page(request, "form_kept.html", path=path, pairs=pairs)
