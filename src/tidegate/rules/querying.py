"""What a person asks a search for: words, "phrases", author:, channel:, before:, after:, has:file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from tidegate.errors import BadInput
from tidegate.rules.finding import FILE_TAG, Word, author_asked, folded, quoted, words_of

_PIECE = re.compile(r"""(author|channel|before|after|has):(?:"([^"]*)"?|(\S*))|"([^"]*)"?|(\S+)""", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


Here = Callable[[datetime], datetime]
"""Makes an instant of a time of day without a zone, as the reader's clock shows it."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search as it was understood. *channel* is a title or a number, as typed.

    *before* leaves its own instant out and *after* takes it in, so that a day is ``after:`` it, ``before:`` the next.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    author: str | None = None
    channel: str | None = None
    before: datetime | None = None
    after: datetime | None = None
    has_file: bool = False

    @property
    def text_query(self) -> str:
        """What the text must have, as PostgreSQL reads a ``tsquery``; empty when the text may be anything."""
        return " & ".join(self._text_parts())

    @property
    def row_query(self) -> str:
        """The same with what the row itself must be: somebody's, or with a file."""
        return " & ".join(self.parts)

    @property
    def parts(self) -> list[str]:
        """Each word, phrase and mark that a row must have, alone."""
        return [*self._text_parts(), *(one for one in (self._author_query(), self._file_query()) if one)]

    def _text_parts(self) -> list[str]:
        asked = [*(one for word in self.words for one in _from_the_beginning(word)), *map(_in_order, self.phrases)]
        return list(dict.fromkeys(one for one in asked if one))

    def _author_query(self) -> str:
        if self.author is None:
            return ""
        named = f"{quoted(author_asked(self.author))}:*"
        return f"({named} | {quoted(f'by:{self.author}')})" if self.author.removeprefix("-").isdecimal() else named

    def _file_query(self) -> str:
        return quoted(FILE_TAG) if self.has_file else ""


def read_query(text: str, here: Here) -> Query:
    """Understand a search; days begin where the reader is. What makes no sense is a sentence, never a guess."""
    text = text.replace("\x00", " ")
    words: list[str] = []
    phrases: list[str] = []
    given: dict[str, str] = {}
    for name, in_quotes, bare, phrase, word in (match.groups() for match in _PIECE.finditer(text)):
        if name is not None:
            _give(given, name.lower(), (in_quotes or bare or "").strip())
        elif phrase is not None:
            phrases.append(phrase)
        else:
            words.append(word)
    found = Query(
        words=tuple(words),
        phrases=tuple(phrases),
        author=given.get("author"),
        channel=given.get("channel"),
        before=read_instant("before", given["before"], here) if "before" in given else None,
        after=read_instant("after", given["after"], here) if "after" in given else None,
        has_file=_has_file(given.get("has")),
    )
    if not (found.text_query or given):
        raise BadInput(f'There is no word to look for in "{text}"; give at least one.')
    return found


_EXAMPLES = {"author": "Ada", "channel": "News", "before": "2026-12-31", "after": "2026-01-01", "has": "file"}


def _give(given: dict[str, str], name: str, value: str) -> None:
    if not folded(value).strip():
        raise BadInput(f"Nothing follows {name}: in the search; write for example {name}:{_EXAMPLES[name]}.")
    if name in given:
        raise BadInput(f"The search has {name}: twice; each filter can be given once.")
    given[name] = value


def _has_file(what: str | None) -> bool:
    if what is not None and folded(what) != "file":
        raise BadInput(f"A search knows has:file and no has:{what}.")
    return what is not None


def read_instant(key: str, written: str, here: Here) -> datetime:
    """The beginning of a year, month or day, or an instant written out; *key* is what a refusal calls it."""
    try:
        day = _DAY.fullmatch(written)
        found = datetime.fromisoformat("{}-{:0>2}-{:0>2}".format(*day.groups("1")) if day else written)
        return (found if found.tzinfo else here(found)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"{key}:{written} is no date; write for example {key}:2026-12-31 or {key}:2026-12.") from None


# Words as PostgreSQL looks them up


def _from_the_beginning(word: str) -> list[str]:
    """Each word of what was typed as one, from its beginning on; a run without spaces as the phrase of its pairs."""
    return [f"{quoted(run[0].text)}:*" if not run[0].pair else _followed(run) for run in _runs(words_of(word))]


def _in_order(phrase: str) -> str:
    return _followed(_without_ends(words_of(phrase)))


def _runs(words: list[Word]) -> list[list[Word]]:
    """Words apart, and pairs of one run together."""
    runs: list[list[Word]] = []
    open_run = False
    for word in words:
        if not open_run:
            runs.append([])
        runs[-1].append(word)
        open_run = word.pair and len(word.text) > 1
    return [_without_ends(run) for run in runs]


def _without_ends(words: list[Word]) -> list[Word]:
    """A run ends in a lone character that the pair before it has already; alone it is a word's beginning."""
    return [
        word
        for before, word in pairwise([None, *words])
        if word is not None and not (_is_lone(word) and before is not None and before.pair and len(before.text) > 1)
    ]


def _is_lone(word: Word) -> bool:
    return word.pair and len(word.text) == 1


def _followed(words: list[Word]) -> str:
    """Words in their order and at their distance."""
    shown = [f"{quoted(word.text)}:*" if _is_lone(word) else quoted(word.text) for word in words]
    steps = ["", *(f" <{after.at - before.at}> " for before, after in pairwise(words))]
    return "".join(step + word for step, word in zip(steps, shown, strict=False))
