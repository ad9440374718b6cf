"""Spans of time as operators write them: ``15s``, ``10m``, ``4h``, ``30d``, ISO 8601, or plain seconds."""

from __future__ import annotations

import re
from datetime import timedelta

from pydantic import TypeAdapter, ValidationError

_UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ms|us|[dhms])")
_PIECES = re.compile(rf"(?:{_PIECE.pattern})+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ISO = TypeAdapter(timedelta)


def parse_span(written: object, unit: timedelta = _UNITS["s"]) -> timedelta:
    """Read a span; a bare number counts in *unit*. Raises ``ValueError`` for anything else."""
    if isinstance(written, timedelta):
        return written
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        raise ValueError("not a span")  # noqa: TRY004 - pydantic turns only ValueError into a refusal
    text = str(written).strip().lower()
    try:
        if _NUMBER.fullmatch(text):
            return float(text) * unit
        if _PIECES.fullmatch(text):
            return sum((float(number) * _UNITS[name] for number, name in _PIECE.findall(text)), timedelta())
        if text.startswith("p"):
            return _ISO.validate_python(text.upper())
    except (OverflowError, ValidationError) as problem:
        raise ValueError("not a span") from problem
    raise ValueError("not a span")


def span_text(span: timedelta) -> str:
    """Write a span so that ``parse_span`` reads it back: ``90s`` is ``1m30s``."""
    rest, pieces = abs(span), []
    for name, unit in _UNITS.items():
        count, rest = divmod(rest, unit)
        pieces += [f"{count}{name}"] if count else []
    return ("-" if span < timedelta() else "") + ("".join(pieces) or "0s")
