"""The filters of the templates: numbers, times, sizes and names as people read them."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from markupsafe import Markup, escape

from tidegate.channels.rules.channel_names import full_name
from tidegate.core.account import Standing
from tidegate.core.durations import span_text
from tidegate.core.platform import platform_named
from tidegate.core.rules.readable_values import counted, readable_size
from tidegate.web.rules import archive_labels, channel_labels
from tidegate.web.rules.command_removal import without_commands
from tidegate.web.rules.formatted_text import host_of, safe_address
from tidegate.web.rules.message_details import reaction_words

_BRIEF = 120
_NONE = Markup('<span class="none">—</span>')


def known(value: object) -> object:
    """A value, or a dash if there is none; phones hide cells with only a dash."""
    return _NONE if value is None or value == "" else value


def when(moment: datetime | str | None, show: str | None = None) -> Markup:
    """An instant, which the page's script shows as a distance ("5 min. ago") with the exact time in the browser's zone.

    Without script it is UTC, and says so.
    """
    if moment is None:
        return _NONE
    moment = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone(UTC)
    way = Markup(' data-show="{}"').format(show) if show else ""
    return Markup('<time datetime="{}"{}>{}</time>').format(
        moment.isoformat(timespec="seconds"), way, f"{moment:%Y-%m-%d %H:%M} UTC"
    )


def exactly(moment: datetime | str | None) -> Markup:
    """An instant that is shown as a date and a time in the browser's zone, however near it is."""
    return when(moment, "exact")


_WRITTEN = re.compile(r"\b(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC\b")


def timed(sentence: str) -> Markup:
    """A sentence whose times, which are written in UTC, the page's script shows in the reader's zone."""
    pieces, at = [], 0
    for found in _WRITTEN.finditer(sentence):
        try:
            moment = datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")
        except ValueError:  # no time, however much it looks like one
            continue
        pieces += [escape(sentence[at : found.start()]), exactly(moment)]
        at = found.end()
    return Markup("").join([*pieces, escape(sentence[at:])])


def clock(moment: datetime) -> Markup:
    """The time of day of an instant, which the page's script shows in the browser's zone; without it UTC."""
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
"""How many colours distinguish authors."""


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
    """A length of time: 5m 3s, and whole days in words."""
    if length is not None and length and length % timedelta(days=1) == timedelta():
        return counted(length.days, "day")
    return "—" if length is None else span_text(timedelta(seconds=round(length.total_seconds())))


def on_clock(moment: datetime | None, zone: tzinfo) -> Markup:
    """An instant on the clock of *zone*, which is named: a reminder's times are in its own zone for every reader."""
    if moment is None:
        return _NONE
    local = moment.astimezone(zone)
    named = str(zone).replace("_", " ")
    return Markup('<span class="clock" title="{}">{}</span>').format(
        f"{local:%A}, {local.day} {local:%B %Y, %H:%M} ({named}) · {moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        f"{local:%a} {local.day} {local:%b %Y, %H:%M} ({named})",
    )


_AGES = {
    Standing.NEW: "New (sends slowly)", Standing.NORMAL: "A few months old", Standing.ESTABLISHED: "Long used",
}  # fmt: skip


def age(standing: Standing) -> str:
    """How long an account has been in use, as people say it."""
    return _AGES[standing]


FILTERS: Mapping[str, Any] = {
    "age": age,
    "known": known,
    "when": when,
    "exactly": exactly,
    "timed": timed,
    "clock": clock,
    "on_clock": on_clock,
    "hour_text": lambda hour: f"{hour:02}:00",
    "plain_words": without_commands,
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
    "full_name": full_name,
    "span": span,
    "size": readable_size,
    "check": channel_labels.check_words,
    "checks": channel_labels.checks_counted,
    "channel_state": channel_labels.state_words,
    "channel_kind": lambda kind, forum: channel_labels.kind_words(kind, forum=forum),
    "history": lambda bar, full: channel_labels.history_words(bar, full=full),
    "archive_state": lambda state, copied: archive_labels.state_words(state, copied=copied),
    "archive_mood": archive_labels.state_mood,
    "archive_type": archive_labels.type_words,
    "archive_flag": archive_labels.flag_words,
    "failure": archive_labels.failure_words,
    "failure_text": archive_labels.failure_text,
    "copy_method": archive_labels.method_words,
    "copy_state": archive_labels.delivery_words,
    "waits_for": lambda text: without_commands(archive_labels.waiting_words(text)),
    "brand": lambda platform: platform_named(platform).brand,
}
