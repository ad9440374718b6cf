"""A form that was sent after its session had ended: it is carried through the sign-in, so that no input is lost.

Only forms of our own pages are carried, and the person has to press a button to send one again.
"""

from __future__ import annotations

import json

from fastapi import Request
from fastapi.responses import Response
from pydantic import TypeAdapter, ValidationError

from tidegate.web.page_response import CHANGE_FIELD, is_htmx, page

_SECRET = {"password", "current", "answer"}  # typed again rather than written into a page
_PAIRS = TypeAdapter(list[tuple[str, str]])


async def carried(request: Request) -> str:
    """The input of a form as JSON, for another form to carry; empty if there is none, or if it has a secret."""
    if request.method != "POST" or is_htmx(request):
        return ""
    pairs = [(name, value) for name, value in (await request.form()).multi_items() if isinstance(value, str)]
    typed = [(name, value) for name, value in pairs if name != CHANGE_FIELD]
    return "" if _SECRET & {name for name, _ in typed} or not typed else json.dumps(typed)


def show_again(request: Request, path: str, carried_along: str) -> Response | None:
    """The page that sends the carried form to *path*; None if the carried input is not readable."""
    try:
        pairs = _PAIRS.validate_json(carried_along)
    except ValidationError:
        return None
    return page(request, "form_resubmission.html", path=path, pairs=pairs)
