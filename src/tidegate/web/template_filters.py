"""The filters of the templates: numbers, times, sizes and names as people read them."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup

from tidegate.core.durations import span_text
from tidegate.core.platform import platform_named
from tidegate.core.rules.readable_values import counted, readable_size
from tidegate.web.rules.formatted_text import host_of, safe_address
from tidegate.web.rules.message_details import reaction_words

_BRIEF = 120
_NONE = Markup('<span class="none">—</span>')


def known(value: object) -> object:
    """A value, or a dash if there is none; phones hide cells with only a dash."""
    return _NONE if value is None or value == "" else value


def when(moment: datetime | str | None) -> Markup:
    """An instant that the page's script shows in the reader's own zone; without script it is UTC, and says so."""
    if moment is None:
        return _NONE
    moment = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.isoformat(timespec="seconds"), f"{moment:%Y-%m-%d %H:%M} UTC"
    )


def clock(moment: datetime) -> Markup:
    """The time of day of an instant, which the page's script shows in the reader's own zone; without it UTC."""
    moment = moment.astimezone(UTC)
    return Markup('<time datetime="{}" data-show="clock">{}</time>').format(
        moment.isoformat(timespec="seconds"), f"{moment:%H:%M}"
    )


def day(moment: datetime) -> Markup:
    """The day of an instant, as ``clock`` shows its time."""
    moment = moment.astimezone(UTC)
    return Markup('<time datetime="{}" data-show="day">{}</time>').format(
        moment.isoformat(timespec="seconds"), f"{moment:%A}, {moment.day} {moment:%B %Y}"
    )


HUES = 8
"""How many colours tell authors apart."""


def hue(author: str | int | None) -> int:
    """The colour of an author, always the same one."""
    return zlib.crc32(str(author).encode("utf-8", "replace")) % HUES


def initial(name: str) -> str:
    """The first letter of a name, for the round sign beside a message."""
    return next((sign.upper() for sign in name if unicodedata.category(sign)[0] in "LN"), "?")


def number(count: float) -> str:
    """A count as people read it: 1,086."""
    return f"{count:,}"


_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_QUOTED = re.compile('"([^"]+)"')
_OTHER_WAY = ("R", "AL", "AN")


def steady(sentence: str) -> str:
    """A sentence whose text direction no name in it can change: marks are removed, and quoted names isolated."""
    return _QUOTED.sub(lambda name: f'"{apart(name[1])}"', _TURNING.sub("", sentence))


def apart(name: str) -> str:
    """A name where markup is not possible: right-to-left names are isolated with FSI and PDI."""
    plain = _TURNING.sub("", name)
    return f"\u2068{plain}\u2069" if any(unicodedata.bidirectional(sign) in _OTHER_WAY for sign in plain) else plain


def cut(text: str, most: int = _BRIEF) -> str:
    """A text that stands alone, cut to *most* characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def brief(text: str, most: int = _BRIEF) -> str:
    """Foreign text within a sentence of ours, cut to *most* characters."""
    return steady(cut(text, most))


def named(text: str, most: int = _BRIEF) -> Markup:
    """A foreign name as markup: cut, isolated in its text direction, and never invisible."""
    seen = any(unicodedata.category(sign)[0] not in "CZ" for sign in text[:most])
    return Markup('<bdi class="name">{}</bdi>').format(brief(text, most) if seen else "(no visible name)")


def span(length: timedelta | None) -> str:
    return "—" if length is None else span_text(timedelta(seconds=round(length.total_seconds())))


FILTERS: Mapping[str, Any] = {
    "known": known,
    "when": when,
    "clock": clock,
    "day": day,
    "hue": hue,
    "initial": initial,
    "reaction": reaction_words,
    "address": safe_address,
    "host": host_of,
    "number": number,
    "counted": counted,
    "steady": steady,
    "apart": apart,
    "cut": cut,
    "brief": brief,
    "named": named,
    "span": span,
    "size": readable_size,
    "brand": lambda platform: platform_named(platform).brand,
}
