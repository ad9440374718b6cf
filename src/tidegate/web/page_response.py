"""Responses for browsers: a page made from a template, a redirect, or the sentence that a change was made.

Templates escape every value, and rendering fails where a template names a value that it was not given.
"""

from __future__ import annotations

import json
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from tidegate import __version__
from tidegate.web.rules.command_removal import without_commands
from tidegate.web.server.streamed_responses import PiecewiseResponse, made_in_thread
from tidegate.web.site_address import site_of
from tidegate.web.static_files import all_assets
from tidegate.web.template_filters import FILTERS, cut, steady

SAID = "Tidegate-Said"
"""The header of the sentence that the page's script shows; htmx's own would be lost when a part reloads."""

SAID_COOKIE = "tidegate_said"
"""A sentence for the next page, where a change leads to another one; it is shown once."""
_SAID_FOR = 60  # seconds: a page that never comes says nothing later

CHANGE_FIELD = "change_token"
"""The field in which a form brings along that it is one of our own."""

THEME_COOKIE = "tidegate_theme"
THEMES = ("auto", "light", "dark")

_LARGEST = ("layout.html", "macros.html", "channel_messages.html", "parts/chat.html", "parts/media.html")


def page(request: Request, template: str, *, status: int = HTTPStatus.OK, **values: Any) -> Response:
    """A page, or a part of one for htmx. It is rendered from *values* when it is sent."""
    site = site_of(request)
    visitor = getattr(request.state, "visitor", None)
    said = "" if is_htmx(request) else unquote(request.cookies.get(SAID_COOKIE, ""))
    values |= {
        "url": site.path,
        "asset": lambda name: site.path(f"/static/{name}?v={all_assets()[name].version}"),
        "here": request.url.path,
        "address": address(request),
        "menu": getattr(request.state, "menu", None),
        "said": said,
        "change_token": visitor.change_token if visitor else None,
        "place": visitor.place if visitor else None,
        "theme": _theme(request),
        "version": __version__,
    }
    made = (_environment().get_template(one).render(values) for one in (template,))  # a new template is compiled first
    answer = PiecewiseResponse(made_in_thread(made), status, media_type="text/html")
    if said:
        answer.delete_cookie(SAID_COOKIE, path=site.path("/"))
    return answer


def prepare() -> None:
    """Compile the templates of the chat, which are by far the largest: the first reader need not wait for that."""
    for name in _LARGEST:
        _environment().get_template(name)


def _as_part(request: Request) -> None:
    request.state.as_part = True


AS_PART = [Depends(_as_part)]
"""The dependencies of a second route to a ``live_page``: it answers with the part that htmx loads again."""


def live_page(request: Request, template: str, **values: Any) -> Response:
    """A page with a part of the same name that htmx loads again, or that part alone on a route with ``AS_PART``."""
    as_part = getattr(request.state, "as_part", False)
    return page(request, f"parts/{template}" if as_part else template, **values)


def changed(request: Request, sentence: str, *, back: str) -> Response:
    """The response to a change: htmx shows *sentence* and reloads the parts; without script, it redirects to *back*."""
    if is_htmx(request):
        return Response(
            status_code=HTTPStatus.NO_CONTENT, headers={SAID: json.dumps(steady(without_commands(sentence)))}
        )
    return go_to(request, back, said=sentence)


def go_to(request: Request, path: str, *, said: str = "") -> Response:
    """Send the browser to another of our pages, which shows the sentence *said* once."""
    site = site_of(request)
    address = site.path(path)
    if is_htmx(request):
        answer = Response(status_code=HTTPStatus.NO_CONTENT, headers={"HX-Redirect": address})
    else:
        answer = RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)
    if said:
        plain = cut(steady(without_commands(said)), 500)
        answer.set_cookie(
            SAID_COOKIE, quote(plain, safe=""), max_age=_SAID_FOR, path=site.path("/"),
            secure=site.is_secure(request), httponly=True, samesite="lax",
        )  # fmt: skip
    return answer


def local_path(wanted: str) -> str:
    """*wanted* if it is a path of ours, else the first page: a link must not redirect to another site."""
    parts = urlsplit(wanted)
    ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and not parts.netloc and wanted.isprintable()
    return wanted if ours else "/"


def address(request: Request) -> str:
    """The requested address, to return to after sign-in; after a change it is the first page."""
    if request.method != "GET":
        return "/"
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def _theme(request: Request) -> str:
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else THEMES[0]


def is_htmx(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("tidegate.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    return made
