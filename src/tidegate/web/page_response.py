"""Responses for browsers: a page made from a template, a redirect, or the sentence that a change was made.

Templates escape every value, and rendering fails where a template names a value that it was not given.
"""

from __future__ import annotations

import json
from functools import cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from tidegate import __version__
from tidegate.web.server.streamed_responses import PiecewiseResponse, made_in_thread
from tidegate.web.site_address import site_of
from tidegate.web.static_files import all_assets
from tidegate.web.template_filters import FILTERS, steady

NAVIGATION = (
    ("Overview", "/"),
    ("Channels", "/channels"),
    ("Archives", "/archives"),
    ("Messages", "/messages"),
    ("Reminders", "/reminders"),
    ("Activity", "/activity"),
    ("Accounts", "/accounts"),
    ("Storage", "/storage"),
    ("Settings", "/settings"),
)
"""The pages in the order of the menu; each exists."""

SAID = "Tidegate-Said"
"""The header of the sentence that the page's script shows; htmx's own would be lost when a part reloads."""

CHANGE_FIELD = "change_token"
"""The field in which a form brings along that it is one of our own."""

THEME_COOKIE = "tidegate_theme"
THEMES = ("auto", "light", "dark")


def page(request: Request, template: str, *, status: int = HTTPStatus.OK, **values: Any) -> Response:
    """A page, or a part of one for htmx. It is rendered from *values* when it is sent."""
    site = site_of(request)
    visitor = getattr(request.state, "visitor", None)
    make = partial(
        _environment().get_template(template).render,
        url=site.path,
        asset=lambda name: site.path(f"/static/{name}?v={all_assets()[name].version}"),
        here=request.url.path,
        address=address(request),
        navigation=NAVIGATION,
        change_token=visitor.change_token if visitor else None,
        place=visitor.place if visitor else None,
        theme=_theme(request),
        version=__version__,
        **values,
    )  # fmt: skip
    return PiecewiseResponse(made_in_thread(make() for _ in range(1)), status, media_type="text/html")


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
        return Response(status_code=HTTPStatus.NO_CONTENT, headers={SAID: json.dumps(steady(sentence))})
    return go_to(request, back)


def go_to(request: Request, path: str) -> Response:
    """Send the browser to another of our pages."""
    address = site_of(request).path(path)
    if is_htmx(request):
        return Response(status_code=HTTPStatus.NO_CONTENT, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


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
