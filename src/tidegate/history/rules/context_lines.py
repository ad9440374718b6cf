"""Messages as a bot reads them: one line each, oldest first, within a number of characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.core.ids import UserId
from tidegate.history.rules.content_summary import flat

_FIRST_WORDS = 40
_DATED_AFTER = timedelta(days=7)
_UNITS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "m"))

Here = Callable[[datetime], datetime]
"""An instant as the reader's clock shows it."""


@dataclass(frozen=True, slots=True)
class AnsweredMessage:
    """The message that a reply answers, or the piece of it that it quotes; None where it was never stored."""

    author: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class ContextLine:
    """What a line says about a message. Of a *hidden* one it says only that it was deleted.

    *holds* is what it holds beside its text, in words, *forwarded* from where it was forwarded. *service* is what the
    platform itself announced, such as a join.
    """

    at: datetime
    author: str
    author_id: UserId | None
    text: str
    holds: Sequence[str] = ()
    forwarded: str = ""
    service: str = ""
    answers: AnsweredMessage | None = None
    edited: bool = False
    deleted: bool = False
    hidden: bool = False


def line_of(message: ContextLine, *, now: datetime, here: Here) -> str:
    """One message as one line, whatever is in it: a text cannot imitate the line of another author."""
    number = "" if message.author_id is None else f"({message.author_id})"
    return f"[{age(message.at, now=now, here=here)}] {flat(message.author) or 'Somebody'}{number}: {_said(message)}"


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
    fits = how_many_fit(lines, most)
    if not fits and lines and most > 1:
        return [lines[-1][: most - 2] + "…"]
    return list(lines[len(lines) - fits :])


def how_many_fit(lines: Sequence[str], most: int) -> int:
    """How many of the newest lines fit into *most* characters, line ends counted."""
    left = most
    for number, line in enumerate(reversed(lines)):
        left -= len(line) + 1
        if left < 0:
            return number
    return len(lines)


def _said(message: ContextLine) -> str:
    if message.hidden:
        return "(deleted)"
    pieces = [
        "" if message.answers is None else _answer(message.answers),
        f"[{flat(message.forwarded)}]" if message.forwarded else "",
        flat(message.text),
        *(f"[{flat(words)}]" for words in message.holds),
        f"({flat(message.service)})" if message.service else "",
        "(edited)" if message.edited else "",
        "(deleted)" if message.deleted else "",
    ]
    return " ".join(piece for piece in pieces if piece)


def _answer(answered: AnsweredMessage) -> str:
    if answered.author is None:
        return "↪ a message that is not stored |"
    first = flat(answered.text or "") or "(no text)"
    cut = first if len(first) <= _FIRST_WORDS else first[:_FIRST_WORDS].rsplit(" ", 1)[0].rstrip() + "…"
    return f"↪ {flat(answered.author) or 'Somebody'}: {cut} |"
