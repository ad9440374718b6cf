"""The session of a page: every page requires sign-in, and a change also one of our own forms (``csrf.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from tidegate.access.queries import page_sessions
from tidegate.events.queries import feed
from tidegate.events.queries.feed import START, FeedCursor
from tidegate.web.auth import csrf
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.menu import menu_of
from tidegate.web.page_response import is_htmx
from tidegate.web.server.heavy_request_limit import Heavy
from tidegate.web.server.request_bodies import BodyRoute, Router
from tidegate.web.site_address import site_of

_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class SignedInVisitor:
    """The person who is signed in with this browser.

    *secret* is the value of the session cookie. *place* is the position in the feed before the page was made; the
    page's live updates start there.
    """

    secret: str
    place: FeedCursor

    @property
    def change_token(self) -> str:
        """The CSRF token of the session."""
        return csrf.change_token(self.secret)


class SignInFirst(Exception):
    """The page requires sign-in, and the browser has no valid session."""


async def guarded(request: Request, database: InDatabase) -> SignedInVisitor:
    """Every page depends on it: a session, and for a change also our own form."""
    secret = shown_secret(request)
    async with database.connection() as connection:
        session = await page_sessions.find_session(connection, secret, site_of(request).sessions)
        if session is None:
            raise SignInFirst
        visitor = SignedInVisitor(secret, START if is_htmx(request) else await feed.latest(connection))
        if _shows_menu(request):
            request.state.menu = await menu_of(request, connection)
    request.state.visitor = visitor
    request.app.state.request_rates.accept(request.scope)
    if request.method not in _READING:
        await csrf.require_own_form(request, visitor.change_token)
    return visitor


class GuardedRouter(Router):
    """A router of pages: each of them requires sign-in."""

    def __init__(self, prefix: str = "", *, route_class: type[APIRoute] = BodyRoute) -> None:
        checks = [Depends(guarded)]
        super().__init__(route_class=route_class, prefix=prefix, include_in_schema=False, dependencies=checks)


def _shows_menu(request: Request) -> bool:
    """Whether a whole page is asked for; a part, a picture or a stream has no menu."""
    return "text/html" in request.headers.get("accept", "") and not is_htmx(request)


def shown_secret(request: Request) -> str:
    """The value of the browser's session cookie; no session has an empty one."""
    return request.cookies.get(site_of(request).session_cookie(request), "")


SignedIn = Annotated[SignedInVisitor, Depends(guarded)]


async def count_as_heavy(visitor: SignedIn, heavy: Heavy) -> None:
    """Count a request among the heavy ones of its browser."""
    heavy.begin(f"browser {visitor.change_token}")
