"""Protection against cross-site request forgery (CSRF): no other site can change anything through a browser."""

from __future__ import annotations

import hashlib
import hmac
from http import HTTPStatus

from fastapi import HTTPException, Request

from tidegate.web.page_response import CHANGE_FIELD, is_htmx
from tidegate.web.site_address import site_of

CHANGE_HEADER = "x-change-token"


class SendAgain(Exception):
    """One of our pages sent this before the browser signed in again: the person has to confirm that it is meant."""


def change_token(secret: str) -> str:
    """What a form has to carry. Another site can make a browser send the cookie, but cannot read this."""
    return hashlib.sha256(b"change " + secret.encode()).hexdigest()


async def require_own_form(request: Request, token: str) -> None:
    """Refuse a change unless one of our own pages made its form, for this session."""
    require_own_origin(request)
    shown = request.headers.get(CHANGE_HEADER)
    if shown is None and not is_htmx(request):
        given = (await request.form()).get(CHANGE_FIELD)
        shown = given if isinstance(given, str) else None
    if shown is None or not hmac.compare_digest(shown.encode(), token.encode()):
        if shown is not None and is_from_own_page(request):
            raise SendAgain
        raise HTTPException(HTTPStatus.FORBIDDEN, "This change did not come from a page of yours. Reload the page.")


def require_own_origin(request: Request) -> None:
    """Refuse a change that another site requests. Browsers name the site; other clients do not have our cookie."""
    fetched = request.headers.get("sec-fetch-site")
    unsaid = fetched == "none" or (fetched is None and request.headers.get("origin") is None)
    if not unsaid and not is_from_own_page(request):
        raise HTTPException(HTTPStatus.FORBIDDEN, "Another site asked for this change, so nothing was changed.")


def is_from_own_page(request: Request) -> bool:
    """Whether the browser says that one of our own pages sent the request; no other site can make it say so."""
    fetched = request.headers.get("sec-fetch-site")
    if fetched is not None:
        return fetched == "same-origin"
    own = {site_of(request).origin, f"{request.url.scheme}://{request.headers.get('host', '')}".lower()}
    return request.headers.get("origin", "").lower() in own
