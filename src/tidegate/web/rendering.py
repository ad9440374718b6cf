"""Pages made from templates. Every value is escaped; a template that names a value nobody gave fails loudly."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tidegate import __version__
from tidegate.spans import span_text
from tidegate.web.assets import all_assets
from tidegate.web.site import site_of
from tidegate.words import Platform

NAVIGATION = (
    ("Overview", "/"),
    ("Channels", "/channels"),
    ("Archives", "/archives"),
    ("Messages", "/messages"),
    ("Reminders", "/reminders"),
    ("Activity", "/activity"),
    ("Accounts", "/accounts"),
    ("Settings", "/settings"),
)
"""The pages in the order of the menu; each exists."""

SAID = "Tidegate-Said"
"""The header of the sentence that the page's script says; htmx's own would be lost with a part that loads anew."""

CHANGE_FIELD = "change_token"
"""The field in which a form brings along that it is one of our own."""

THEME_COOKIE = "tidegate_theme"
THEMES = ("auto", "light", "dark")
_BRIEF = 120


def page(request: Request, template: str, *, status: int = HTTPStatus.OK, **values: Any) -> HTMLResponse:
    """A whole page, or a part of one that htmx puts in its place."""
    site = site_of(request)
    visitor = getattr(request.state, "visitor", None)
    text = _environment().get_template(template).render(
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
    return HTMLResponse(text, status_code=status)


def changed(request: Request, sentence: str, *, back: str) -> Response:
    """The answer to a change: htmx says *sentence* and loads what shows it anew; without script, *back* does."""
    if is_htmx(request):
        return Response(status_code=HTTPStatus.NO_CONTENT, headers={SAID: json.dumps(steady(sentence))})
    return go_to(request, back)


def go_to(request: Request, path: str) -> Response:
    """Send the browser to another of our pages."""
    address = site_of(request).path(path)
    if is_htmx(request):
        return Response(status_code=HTTPStatus.NO_CONTENT, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def address(request: Request) -> str:
    """What was asked for, to come back to later; after a change there is no coming back, so it is the first page."""
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


_NONE = Markup('<span class="none">—</span>')


def known(value: object) -> object:
    """A value, or a dash where there is none; a phone leaves cells out that hold nothing else."""
    return _NONE if value is None or value == "" else value


def when(moment: datetime | str | None) -> Markup:
    """An instant that the page's script shows in the reader's own zone; without script it is UTC, and says so."""
    if moment is None:
        return _NONE
    moment = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.isoformat(timespec="seconds"), f"{moment:%Y-%m-%d %H:%M} UTC"
    )


def number(count: float) -> str:
    """A count as people read it: 1,086."""
    return f"{count:,}"


def counted(count: int, what: str) -> str:
    """So many of something: 1 message, 1,086 messages."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_QUOTED = re.compile('"([^"]+)"')
_OTHER_WAY = ("R", "AL", "AN")


def steady(sentence: str) -> str:
    """A sentence that no name in it turns around: without the marks that do so, and quoted names each for itself."""
    return _QUOTED.sub(lambda name: f'"{apart(name[1])}"', _TURNING.sub("", sentence))


def apart(name: str) -> str:
    """A name where there can be no markup: one that reads from right to left keeps to itself (FSI and PDI)."""
    plain = _TURNING.sub("", name)
    return f"\u2068{plain}\u2069" if any(unicodedata.bidirectional(sign) in _OTHER_WAY for sign in plain) else plain


def cut(text: str, most: int = _BRIEF) -> str:
    """At most so many characters of a text that stands for itself."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def brief(text: str, most: int = _BRIEF) -> str:
    """At most so many characters of what somebody else wrote, in a line with our own words."""
    return steady(cut(text, most))


def named(text: str, most: int = _BRIEF) -> Markup:
    """A name that somebody else chose: cut, kept from turning the writing around it, and never without a sign."""
    seen = any(unicodedata.category(sign)[0] not in "CZ" for sign in text[:most])
    return Markup('<bdi class="name">{}</bdi>').format(brief(text, most) if seen else "(no visible name)")


def span(length: timedelta | None) -> str:
    return "—" if length is None else span_text(timedelta(seconds=round(length.total_seconds())))


def size(count: int) -> str:
    """Bytes as people read them: 1.5 GB."""
    length, unit = float(count), "bytes"
    for further in ("kB", "MB", "GB", "TB"):
        if length < 1_000:
            break
        length, unit = length / 1_000, further
    return f"{count} bytes" if unit == "bytes" else f"{length:.1f} {unit}"


FILTERS: Mapping[str, Any] = {
    "known": known,
    "when": when,
    "number": number,
    "counted": counted,
    "steady": steady,
    "apart": apart,
    "cut": cut,
    "brief": brief,
    "named": named,
    "span": span,
    "size": size,
    "brand": lambda platform: Platform(platform).brand,
}
