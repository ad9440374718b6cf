"""Messages as a bot reads them: one line each, oldest first, within a number of characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

_LINE_BREAK = " ⏎ "
_FIRST_WORDS = 40
_DATED_AFTER = timedelta(days=7)
_UNITS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "m"))

Here = Callable[[datetime], datetime]
"""An instant as the reader's clock shows it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The message that a reply answers; None where it was never stored."""

    author: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a message. Of a *hidden* one it is only told that it was deleted.

    *service* is what the platform itself announced, such as a join.
    """

    at: datetime
    author: str
    author_id: int | None
    text: str
    files: Sequence[str] = ()
    service: str = ""
    answers: Answered | None = None
    edited: bool = False
    deleted: bool = False
    hidden: bool = False


def line_of(told: Told, *, now: datetime, here: Here) -> str:
    """One message as one line, whatever is in it: a text cannot pass for the line of somebody else."""
    number = "" if told.author_id is None else f"({told.author_id})"
    return f"[{age(told.at, now=now, here=here)}] {_flat(told.author) or 'Somebody'}{number}: {_said(told)}"


def age(at: datetime, *, now: datetime, here: Here) -> str:
    """How long ago that was, up to seven days; then the date where the reader is, with its year."""
    since = now - at
    if since > _DATED_AFTER:
        return f"{here(at):%Y-%m-%d}"
    return next((f"{since // unit}{letter} ago" for unit, letter in _UNITS if since >= unit), "now")


def within(lines: Sequence[str], most: int | None) -> list[str]:
    """The newest lines that fit into *most* characters, line ends counted; a newest one that is too long is cut."""
    if most is None:
        return list(lines)
    kept: list[str] = []
    left = most
    for line in reversed(lines):
        if len(line) + 1 > left:
            break
        kept.append(line)
        left -= len(line) + 1
    if not kept and lines and most > 1:
        kept.append(lines[-1][: most - 2] + "…")
    return kept[::-1]


def _said(told: Told) -> str:
    if told.hidden:
        return "(deleted)"
    pieces = [
        "" if told.answers is None else _answer(told.answers),
        _flat(told.text),
        *(f"[file {_flat(name) or 'without a name'}]" for name in told.files),
        f"({_flat(told.service)})" if told.service else "",
        "(edited)" if told.edited else "",
        "(deleted)" if told.deleted else "",
    ]
    return " ".join(piece for piece in pieces if piece)


def _answer(answered: Answered) -> str:
    if answered.author is None:
        return "↪ a message that is not stored |"
    first = _flat(answered.text or "") or "(no text)"
    cut = first if len(first) <= _FIRST_WORDS else first[:_FIRST_WORDS].rsplit(" ", 1)[0].rstrip() + "…"
    return f"↪ {_flat(answered.author) or 'Somebody'}: {cut} |"


def _flat(text: str) -> str:
    """A text without line ends of any kind."""
    return _LINE_BREAK.join(line.strip() for line in text.splitlines() if line.strip())
