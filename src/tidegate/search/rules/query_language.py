"""What a person asks a search for: words, "phrases", -excluded ones, OR, and filters such as ``from:Ada``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from tidegate.core.errors import BadInput
from tidegate.core.ids import UserId
from tidegate.search.rules.searchable_content import HAS_TAGS
from tidegate.search.rules.tokenizer import Word, author_asked, folded, quoted, words_of

_PIECE = re.compile(r"""(-)?(?:([a-z]{2,}):(?!//)(?:"([^"]*)"?|(\S*))|"([^"]*)"?|(\S+))""", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")

_FILTERS = {
    "from": "Ada", "in": "News", "topic": "Offers", "before": "2026-12-31", "after": "2026-01-01", "has": "file",
}  # fmt: skip
"""The filters, each with an example of its value."""

_ALIASES = {"author": "from", "channel": "in"}
_OR = "OR"

Here = Callable[[datetime], datetime]
"""Makes an absolute time of a time of day without a zone, as the user's clock shows it."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search as it was understood.

    *required* and *excluded* are what the text must and must not have, each as PostgreSQL reads a ``tsquery``. *typed*
    are the words and phrases to be highlighted. *channel* and *topic* are titles or numbers, as typed; *titles* are
    those of the topics that are meant, as stored. *authors* are people whose name once was *author*. *before* leaves
    its own instant out and *after* takes it in, so that a day is ``after:`` it, ``before:`` the next.
    """

    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    author: str | None = None
    channel: str | None = None
    topic: str | None = None
    before: datetime | None = None
    after: datetime | None = None
    has: tuple[str, ...] = ()
    has_not: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    authors: tuple[UserId, ...] = ()

    @property
    def text_query(self) -> str:
        """What the text must have, as PostgreSQL reads a ``tsquery``; empty when the text may be anything."""
        return " & ".join([*self.required, *self._without(self.excluded)]) if self.required else ""

    @property
    def row_query(self) -> str:
        """The same with what the row itself must have, such as an author or a file."""
        return " & ".join([*self.parts, *self._without([*self.excluded, *map(quoted, self.has_not)])])

    @property
    def parts(self) -> list[str]:
        """Each word, phrase and mark that a row must have, alone."""
        return [*self.required, *(one for one in (self._author_query(), *map(quoted, self.has)) if one)]

    @staticmethod
    def _without(queries: Iterable[str]) -> list[str]:
        return [f"!({one})" for one in queries]

    def _author_query(self) -> str:
        if self.author is None:
            return ""
        numbers = [self.author] if self.author.removeprefix("-").isdecimal() else []
        tags = [quoted(f"by:{number}") for number in dict.fromkeys([*numbers, *map(str, self.authors)])]
        named = [f"{quoted(author_asked(self.author))}:*", *tags]
        return f"({' | '.join(named)})" if tags else named[0]


@dataclass(slots=True)
class _Reading:
    """What was read of a search so far. Each of *groups* are words and phrases of which one is enough.

    Of what was typed as one word, such as ``wi-fi``, all parts are needed.
    """

    groups: list[list[list[str]]] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    has: list[str] = field(default_factory=list)
    has_not: list[str] = field(default_factory=list)
    after_or: bool = False

    def exclude(self, query: str) -> None:
        """A word or phrase that must be missing, as PostgreSQL looks it up; empty if it has no letter or digit."""
        self._refuse_after_or()
        self.excluded += [query] if query else []

    def take(self, parts: list[str], typed: str) -> None:
        """A word or phrase, as PostgreSQL looks its parts up; one without a letter or digit says nothing."""
        if not parts:
            self.refuse_open_end()
            return
        self.typed.append(typed)
        if self.after_or:
            self.groups[-1].append(parts)
        else:
            self.groups.append([parts])
        self.after_or = False

    def take_or(self) -> None:
        """``OR``: one of the words before and after it is enough."""
        if not self.groups or self.after_or:
            raise BadInput(f"A search cannot begin with {_OR}; write for example: tide {_OR} harbour.")
        self.after_or = True

    def take_filter(self, name: str, value: str, *, excluded: bool) -> None:
        """A filter; all of them must be true."""
        self._refuse_after_or()
        typed, name = name, _ALIASES.get(name, name)
        if name not in _FILTERS:
            names = ", ".join(f"{one}:" for one in _FILTERS)
            raise BadInput(
                f'A search has no filter {name}:. There are {names}. To look for the text itself, write "{name}:…".'
            )
        if not folded(value).strip():
            raise BadInput(f"Nothing follows {typed}: in the search; write for example {typed}:{_FILTERS[name]}.")
        if name == "has":
            (self.has_not if excluded else self.has).append(_has_tag(value))
        elif excluded:
            raise BadInput(
                f"A search cannot exclude by {typed}:; words, phrases and has: can have a minus before them."
            )
        elif name in self.given:
            raise BadInput(f"The search has {typed}: twice; each filter can be given once.")
        else:
            self.given[name] = value

    def refuse_open_end(self) -> None:
        """``OR`` needs a word after it."""
        if self.after_or:
            raise BadInput(f"Nothing follows {_OR} in the search; write for example: tide {_OR} harbour.")

    def _refuse_after_or(self) -> None:
        if self.after_or:
            raise BadInput(f"{_OR} joins words and phrases; a filter or an excluded word cannot follow it.")

    @property
    def required(self) -> tuple[str, ...]:
        said = [part for group in self.groups for part in (group[0] if len(group) == 1 else [_any_of(group)])]
        return tuple(dict.fromkeys(said))


def _any_of(group: list[list[str]]) -> str:
    """Words and phrases of which one is enough."""
    return f"({' | '.join('(' + ' & '.join(parts) + ')' for parts in group)})"


def read_query(text: str, here: Here) -> Query:
    """Parse a search; days begin in the user's time zone. What makes no sense is refused, never guessed."""
    text = text.replace("\x00", " ")
    read = _Reading()
    for minus, name, in_quotes, bare, phrase, word in (match.groups() for match in _PIECE.finditer(text)):
        if name is not None and (in_quotes is not None or bare or name.lower() in {*_FILTERS, *_ALIASES}):
            read.take_filter(name.lower(), (in_quotes or bare or "").strip(), excluded=minus is not None)
        elif phrase is not None:
            in_order = _in_order(phrase)
            if minus:
                read.exclude(in_order)
            else:
                read.take([in_order] if in_order else [], phrase)
        elif word == _OR and not minus:
            read.take_or()
        else:
            typed = word if name is None else name
            if minus:
                read.exclude(_together(typed))
            else:
                read.take(from_the_beginning(typed), typed)
    read.refuse_open_end()
    given = read.given
    found = Query(
        required=read.required,
        excluded=tuple(read.excluded),
        typed=tuple(dict.fromkeys(read.typed)),
        author=given.get("from"),
        channel=given.get("in"),
        topic=given.get("topic"),
        before=read_instant("before", given["before"], here) if "before" in given else None,
        after=read_instant("after", given["after"], here) if "after" in given else None,
        has=tuple(dict.fromkeys(read.has)),
        has_not=tuple(dict.fromkeys(read.has_not)),
    )
    if not (found.required or given or found.has):
        raise BadInput(f'There is no word to look for in "{text}"; give at least one.')
    return found


def _has_tag(what: str) -> str:
    tag = HAS_TAGS.get(folded(what))
    if tag is None:
        raise BadInput(
            f"has: supports only {', '.join(tag.removeprefix('has:') for tag in HAS_TAGS.values())}, not {what}."
        )
    return tag


def read_instant(key: str, written: str, here: Here) -> datetime:
    """The beginning of a year, month or day, or an instant written out; *key* is what a refusal calls it."""
    try:
        day = _DAY.fullmatch(written)
        found = datetime.fromisoformat("{}-{:0>2}-{:0>2}".format(*day.groups("1")) if day else written)
        return (found if found.tzinfo else here(found)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"{key}:{written} is not a date; write for example {key}:2026-12-31 or {key}:2026-12.") from None


# Words as PostgreSQL looks them up


def from_the_beginning(word: str) -> list[str]:
    """Each word of what was typed as one, from its beginning on; a run without spaces as the phrase of its pairs."""
    return [f"{quoted(run[0].text)}:*" if not run[0].pair else _followed(run) for run in _runs(words_of(word))]


def _in_order(phrase: str) -> str:
    return _followed(_without_ends(words_of(phrase)))


def _together(word: str) -> str:
    """What was typed as one word as the phrase of its parts, the last of them from its beginning on.

    To exclude ``e-mail`` must not exclude all texts with a word that begins with e.
    """
    words = _without_ends(words_of(word))
    is_open = bool(words) and not words[-1].pair
    return f"{_followed(words)}{':*' if is_open else ''}"


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
    """Drop the last, single character of a run, which the pair before it contains. On its own it is a prefix."""
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
