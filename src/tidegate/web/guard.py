"""Nobody sees a page who is not signed in, and nobody changes anything from another site."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request

from tidegate.store import feed, sign_ins
from tidegate.store.feed import START, Cursor
from tidegate.web.api.access import InDatabase
from tidegate.web.rendering import CHANGE_FIELD, is_htmx
from tidegate.web.site import site_of

COOKIE = "tidegate_session"
CHANGE_HEADER = "x-change-token"
_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever is signed in with this browser.

    *secret* is what its cookie holds, *place* where the feed was before the page was made: its news begin there.
    """

    secret: str
    place: Cursor

    @property
    def change_token(self) -> str:
        """What a form has to bring along; another site can make a browser send the cookie, and cannot read this."""
        return hashlib.sha256(b"change " + self.secret.encode()).hexdigest()


class SignInFirst(Exception):
    """The page wants a sign-in, and the browser shows none that is good."""


class SendAgain(Exception):
    """A page of ours sent this, made before the browser was signed in anew: only a person can say that it is meant."""


async def guarded(request: Request, database: InDatabase) -> Visitor:
    """Every page below the guard depends on it: a session, and for a change also our own form."""
    secret = request.cookies.get(COOKIE, "")
    async with database.connection() as connection:
        session = await sign_ins.find_session(connection, secret, site_of(request).stays_signed_in_for)
        if session is None:
            raise SignInFirst
        visitor = Visitor(secret, START if is_htmx(request) else await feed.latest(connection))
    request.state.visitor = visitor
    if request.method not in _READING:
        await _require_own_form(request, visitor)
    return visitor


SignedIn = Annotated[Visitor, Depends(guarded)]


async def _require_own_form(request: Request, visitor: Visitor) -> None:
    require_own_origin(request)
    shown = request.headers.get(CHANGE_HEADER)
    if shown is None and not is_htmx(request):
        given = (await request.form()).get(CHANGE_FIELD)
        shown = given if isinstance(given, str) else None
    if shown is None or not hmac.compare_digest(shown.encode(), visitor.change_token.encode()):
        if shown is not None and is_from_own_page(request):
            raise SendAgain
        raise HTTPException(HTTPStatus.FORBIDDEN, "This change did not come from a page of yours. Load it again.")


def require_own_origin(request: Request) -> None:
    """Refuse a change that another site asks for; browsers say who asks, and nobody else has our cookie."""
    fetched = request.headers.get("sec-fetch-site")
    unsaid = fetched == "none" or (fetched is None and request.headers.get("origin") is None)
    if not unsaid and not is_from_own_page(request):
        raise HTTPException(HTTPStatus.FORBIDDEN, "Another site asked for this change, so nothing was changed.")


def is_from_own_page(request: Request) -> bool:
    """Whether the browser says that one of our own pages asks; no other site can make it say so."""
    fetched = request.headers.get("sec-fetch-site")
    if fetched is not None:
        return fetched == "same-origin"
    own = {site_of(request).origin, f"{request.url.scheme}://{request.headers.get('host', '')}".lower()}
    return request.headers.get("origin", "").lower() in own


def local_path(wanted: str) -> str:
    """*wanted* when it is a path of ours, else the first page: a link must not lead whoever signs in elsewhere."""
    parts = urlsplit(wanted)
    ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and not parts.netloc and wanted.isprintable()
    return wanted if ours else "/"
