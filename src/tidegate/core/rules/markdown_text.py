"""Texts in Discord's markdown, as they are shown: the text without its marks, and how its stretches are formatted.

Written by strangers, so each character is looked at a bounded number of times. A mark without its counterpart is shown
as it is. What is only a mark, such as the stars around bold words, is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from tidegate.core.message_content import SpanKind, TextSpan

_KINDS = {
    "**": SpanKind.BOLD,
    "*": SpanKind.ITALIC,
    "__": SpanKind.UNDERLINE,
    "_": SpanKind.ITALIC,
    "~~": SpanKind.STRIKE,
    "||": SpanKind.SPOILER,
}
_BRACKET = "["
_PAIRED = "~|"  # of these only two together are a mark

_SPECIAL = re.compile(r"[\\`*_~|<\[\]\n]|(?i:https?://)|@everyone|@here")
_LINE_MARK = re.compile(r"[ ]*[-*#>]")
_SCHEME = re.compile(r"(?i:https?://)")
_URL_END = re.compile(r"[\s<]")
_TARGET_END = re.compile(r"[\s)]")
_ANGLED_TARGET_END = re.compile(r"[\s>]")
_ANGLE_END = re.compile("[<>]")
_FENCE, _FENCE_WIDTH = re.compile("```"), 3
_NOT_LAST_IN_URL = ".,:;\"'])"
_LANGUAGE = re.compile(r"([A-Za-z0-9_+\-.#]{1,40})\n")
_HEADING = re.compile(r"(#{1,3})[ ]+(?=\S)")
_SMALL = re.compile(r"-#[ ]+(?=\S)")
_BULLET = re.compile(r"([ ]*)[-*][ ]+(?=\S)")
_RUN = {mark: re.compile(re.escape(mark) + "+") for mark in "`*_~|"}
_ANGLED = re.compile(
    r"""<(?:
        @!?(?P<person>[0-9]{1,20})
      | [#](?P<channel>[0-9]{1,20})
      | @&(?P<role>[0-9]{1,20})
      | a?:(?P<emoji>[A-Za-z0-9_]{1,64}):(?P<emoji_id>[0-9]{1,20})
      | t:(?P<seconds>-?[0-9]{1,13})(?::(?P<style>[tTdDfFsSR]))?
      | /(?P<command>[^:<>\n]{1,100}):[0-9]{1,20}
      | id:(?P<place>[a-z-]{1,20})(?::[0-9]{1,20})?
      | (?P<url>(?i:https?://)[^\s<>]+)
    )>""",
    re.VERBOSE,
)
_MENTIONED = {"person": "@", "channel": "#", "role": "@&"}
_SIGNS = {"command": (SpanKind.COMMAND, "/"), "place": (SpanKind.MENTION, "#")}
_STYLES = {
    "t": "%H:%M UTC", "T": "%H:%M:%S UTC", "d": "%Y-%m-%d", "D": "%d %B %Y", "F": "%A, %d %B %Y %H:%M UTC",
    "S": "%Y-%m-%d %H:%M:%S UTC",
}  # fmt: skip
_DEFAULT_STYLE = "%d %B %Y %H:%M UTC"  # also for a time relative to now, which a rule does not know
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def formatted(text: str, mentions: Mapping[str, str] | None = None) -> tuple[str, tuple[TextSpan, ...]]:
    """What is shown of a text, and its formatted stretches: outer ones before those inside them.

    *mentions* are the names that ``<@5>``, ``<#6>`` and ``<@&7>`` stand for; without a name the number is shown.
    """
    if not _SPECIAL.search(text) and not _LINE_MARK.match(text):
        return text, ()
    return MarkdownReader(text, mentions or {}).read()


class _Open(NamedTuple):
    """A mark that waits for its counterpart, and its piece of the output."""

    mark: str
    piece: int


class _Stretch(NamedTuple):
    """A formatted stretch, by pieces of the output."""

    kind: SpanKind
    first: int
    after: int
    target: str = ""


class MarkdownReader:
    """Reads one text once, from left to right. *steps* counts what it looked at, characters and marks."""

    def __init__(self, text: str, mentions: Mapping[str, str], *, depth: int = 0) -> None:
        """*depth* is 1 within a quote, and 2 within a heading, where no block may begin."""
        self.steps = 0
        self._text = text
        self._mentions = mentions
        self._depth = depth
        self._pieces: list[str] = []
        self._stretches: list[_Stretch] = []
        self._stack: list[_Open] = []
        self._open: dict[str, int] = {}  # the place in the stack, for each mark that waits
        self._brackets: list[int] = []  # those of brackets that a link may still begin with
        self._next_found: dict[re.Pattern[str], int] = {}
        self._ticks: dict[int, list[int]] | None = None

    def read(self) -> tuple[str, tuple[TextSpan, ...]]:
        self._read()
        offsets = [0, *accumulate(map(len, self._pieces))]
        spans = [TextSpan(one.kind, offsets[one.first], offsets[one.after], one.target) for one in self._stretches]
        shown = (one for one in reversed(spans) if one.end > one.start)  # an outer one ends after those inside it
        ordered = sorted(shown, key=lambda one: (one.start, -one.end))
        return "".join(self._pieces), tuple(ordered)

    def _read(self) -> None:
        at = self._block(0)
        while at < len(self._text):
            found = _SPECIAL.search(self._text, at)
            if found is None:
                self._show(self._text[at:])
                return
            self._show(self._text[at : found.start()])
            at = self._special(found.start(), found.group())

    def _special(self, at: int, mark: str) -> int:
        """Read what begins at a special character; returns where to go on, always further right."""
        if mark in _RUN and mark != "`":
            return self._emphasis(at, mark)
        reads = _READS.get(mark)
        return self._url(at, mark) if reads is None else reads(self, at)

    def _new_line(self, at: int) -> int:
        return self._block(self._show("\n", at + 1))

    def _bracket(self, at: int) -> int:
        self._brackets.append(len(self._stack))
        self._stack.append(_Open(_BRACKET, len(self._pieces)))
        return self._show(_BRACKET, at + 1)

    def _everybody(self, at: int) -> int:
        mark = "@here" if self._text.startswith("@here", at) else "@everyone"
        return self._stretch(SpanKind.MENTION, mark, mark[1:], at + len(mark))

    # The output

    def _show(self, text: str, then: int = 0) -> int:
        self.steps += 1 + len(text)
        if text:
            self._pieces.append(text)
        return then

    def _stretch(self, kind: SpanKind, text: str, target: str, then: int) -> int:
        """Show a text that is formatted as a whole."""
        self._show(text)
        self._stretches.append(_Stretch(kind, len(self._pieces) - 1, len(self._pieces), target))
        if kind is SpanKind.LINK:  # no link is within another
            self._brackets.clear()
        return then

    def _within(self, kind: SpanKind, text: str, target: str, depth: int) -> None:
        """Show a block, whose marks have no counterpart outside it."""
        inner = MarkdownReader(text, self._mentions, depth=depth)
        inner._read()
        first = len(self._pieces)
        self._pieces += inner._pieces
        self._stretches += [one._replace(first=one.first + first, after=one.after + first) for one in inner._stretches]
        self._stretches.append(_Stretch(kind, first, len(self._pieces), target))
        self.steps += inner.steps + len(inner._pieces) + len(inner._stretches)
        self._stack.clear()
        self._open.clear()
        self._brackets.clear()

    def _next(self, pattern: re.Pattern[str], at: int) -> int:
        """Where a pattern is found next, or the end. Asked from left to right, it looks at each character once."""
        known = self._next_found.get(pattern, -1)
        if known < at:
            found = pattern.search(self._text, at)
            known = self._next_found[pattern] = len(self._text) if found is None else found.start()
            self.steps += known - at
        return known

    # Blocks, which begin at the start of a line

    def _block(self, at: int) -> int:
        text = self._text
        if self._depth == 0 and text.startswith(">>> ", at):
            self._within(SpanKind.QUOTE, text[at + 4 :], "", 1)
            return len(text)
        if self._depth == 0 and text.startswith("> ", at):
            return self._quote(at)
        if self._depth <= 1 and (found := _HEADING.match(text, at) or _SMALL.match(text, at)):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            level = found.group(1) if found.re is _HEADING else ""
            kind = SpanKind.HEADING if level else SpanKind.SMALL
            self._within(kind, text[found.end() : end], str(len(level)) if level else "", 2)
            return end
        if self._depth <= 1 and (found := _BULLET.match(text, at)):
            return self._show(f"{found.group(1)}• ", found.end())
        return at

    def _quote(self, at: int) -> int:
        """Lines that all begin with a quote's mark."""
        lines: list[str] = []
        while self._text.startswith("> ", at):
            end = self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            lines.append(self._text[at + 2 : end])
            at = end + 1
        self._within(SpanKind.QUOTE, "\n".join(lines), "", 1)
        if at > len(self._text):
            return len(self._text)
        self._show("\n")
        return self._block(at)

    # Marks with a counterpart

    def _emphasis(self, at: int, mark: str) -> int:
        """A run of one mark: it may close several stretches and open others."""
        found = _RUN[mark].match(self._text, at)
        end = found.end() if found else at + 1
        self.steps += end - at
        before, after = self._text[at - 1 : at], self._text[end : end + 1]
        left = self._close_run(mark, end - at, before, after)
        if mark in _PAIRED or left == 2:
            opens = [mark * 2] if left >= 2 else []
        else:
            opens = [mark * 2] if left >= 3 else []
            opens += [mark] if left and self._may_open(mark, before, after) else []
        self._show(mark * (left - sum(map(len, opens))))
        for one in opens:
            self._open[one] = len(self._stack)
            self._stack.append(_Open(one, len(self._pieces)))
            self._show(one)
        return end

    def _close_run(self, mark: str, left: int, before: str, after: str) -> int:
        """Close what the run closes; returns how many of its marks are left."""
        one, two = mark, mark * 2
        while left:
            closes = ""
            if mark in _PAIRED:
                closes = two if left >= 2 and two in self._open else ""
            elif left >= 3:
                waiting = (this for this in (one, two) if this in self._open)
                closes = max(waiting, key=self._open.__getitem__, default="")
            elif left == 2 and two in self._open:
                closes = two
            elif left == 1 and one in self._open and self._may_close(mark, before, after):
                closes = one
            if not closes:
                return left
            self._close(closes)
            left -= len(closes)
        return left

    @staticmethod
    def _may_open(mark: str, before: str, after: str) -> bool:
        inside_word = mark == "_" and (before.isalnum() or before == "_")
        return bool(after) and not after.isspace() and not inside_word

    @staticmethod
    def _may_close(mark: str, before: str, after: str) -> bool:
        inside_word = mark == "_" and (after.isalnum() or after == "_")
        return not before.isspace() and not inside_word

    def _close(self, mark: str) -> None:
        """End a stretch; marks that were opened inside it stay as they are."""
        place = self._open[mark]
        opened = self._stack[place]
        self._forget_above(place)
        self._pieces[opened.piece] = ""
        self._stretches.append(_Stretch(_KINDS[mark], opened.piece + 1, len(self._pieces)))

    def _forget_above(self, place: int) -> None:
        """No counterpart of these marks is looked for any more."""
        while len(self._stack) > place:
            self.steps += 1
            gone = self._stack.pop()
            if gone.mark == _BRACKET:
                if self._brackets and self._brackets[-1] == len(self._stack):
                    self._brackets.pop()
            elif self._open.get(gone.mark) == len(self._stack):
                del self._open[gone.mark]

    # Links, code, and what stands for something else

    def _link(self, at: int) -> int:
        """A bracket that closes; with an address after it, it makes a link."""
        if not self._brackets:
            return self._show("]", at + 1)
        place = self._brackets.pop()
        piece = self._stack[place].piece
        address, end = self._address(at + 1) if len(self._pieces) > piece + 1 else ("", 0)
        if not address:
            return self._show("]", at + 1)
        self._forget_above(place)
        self._brackets.clear()
        self._pieces[piece] = ""
        self._stretches.append(_Stretch(SpanKind.LINK, piece + 1, len(self._pieces), address))
        return end

    def _address(self, at: int) -> tuple[str, int]:
        """The address in parentheses, and where it ends; an empty one if there is none."""
        angled = self._text.startswith("(<", at)
        start = at + 1 + angled
        if not self._text.startswith("(", at) or not _SCHEME.match(self._text, start):
            return "", at
        end = self._next(_ANGLED_TARGET_END if angled else _TARGET_END, start)
        closing = ">)" if angled else ")"
        if not self._text.startswith(closing, end):
            return "", at
        if not angled and self._text.startswith("))", end) and "(" in self._text[start:end]:
            end += 1  # the address has parentheses of its own
        return self._text[start:end], end + len(closing)

    def _url(self, at: int, scheme: str) -> int:
        """An address in the text. It ends before the counterpart of a mark that is open."""
        end = self._next(_URL_END, at)
        waiting = frozenset(self._open) | ({_BRACKET} if self._brackets else frozenset())
        if waiting:
            found = _counterpart(waiting).search(self._text, at + len(scheme), end)
            end = end if found is None else found.start()
        self.steps += 2 * (end - at)
        unmatched = self._text.count(")", at, end) - self._text.count("(", at, end)
        while self._text[end - 1] in _NOT_LAST_IN_URL and (self._text[end - 1] != ")" or unmatched > 0):
            unmatched -= self._text[end - 1] == ")"
            end -= 1
            self.steps += 1
        if end - at <= len(scheme):
            return self._show(scheme, at + len(scheme))
        url = self._text[at:end]
        return self._stretch(SpanKind.LINK, url, url, end)

    def _escaped(self, at: int) -> int:
        """A backslash before a mark shows the mark; before anything else it is itself."""
        after = self._text[at + 1 : at + 2]
        if after and not after.isalnum() and not after.isspace():
            return self._show(after, at + 2)
        return self._show("\\", at + 1)

    def _code(self, at: int) -> int:
        """Code between equally many backticks; between three it is a block, and may name its language."""
        found = _RUN["`"].match(self._text, at)
        start = found.end() if found else at + 1
        width = start - at
        if width == _FENCE_WIDTH:
            end = self._next(_FENCE, start)
            if end < len(self._text) and self._text[start:end].strip("\n"):
                return self._code_block(start, end)
        end = self._closing_ticks(width, start)
        if end < 0 or not self._text[start:end].strip("\n"):
            return self._show("`" * width, start)
        return self._stretch(SpanKind.CODE, self._text[start:end], "", end + width)

    def _code_block(self, start: int, end: int) -> int:
        named = _LANGUAGE.match(self._text, start, end)
        language = named.group(1) if named and self._text[named.end() : end].strip("\n") else ""
        code = self._text[named.end() if named and language else start : end].strip("\n")
        return self._stretch(SpanKind.CODE_BLOCK, code, language, end + _FENCE_WIDTH)

    def _closing_ticks(self, width: int, after: int) -> int:
        """Where the next run of exactly so many backticks begins, or -1."""
        if self._ticks is None:
            self._ticks = {}
            self.steps += len(self._text)
            for run in _RUN["`"].finditer(self._text):
                self._ticks.setdefault(run.end() - run.start(), []).append(run.start())
            for places in self._ticks.values():
                places.reverse()
        places = self._ticks.get(width, [])
        while places and places[-1] < after:
            self.steps += 1
            places.pop()
        return places[-1] if places else -1

    def _angled(self, at: int) -> int:
        """What is written in angle brackets and shown as something else."""
        found = _ANGLED.match(self._text, at)
        if found is None:
            self.steps += min(100, self._next(_ANGLE_END, at + 1) - at)
            return self._show("<", at + 1)
        self.steps += found.end() - at
        if found["seconds"]:
            return self._date(found)
        if found["emoji"]:
            return self._stretch(SpanKind.CUSTOM_EMOJI, f":{found['emoji']}:", found["emoji_id"], found.end())
        for name, (kind, sign) in _SIGNS.items():
            if said := found[name]:
                return self._stretch(kind, f"{sign}{said}", "", found.end())
        if url := found["url"]:
            return self._stretch(SpanKind.LINK, url, url, found.end())
        return self._mention(found)

    def _mention(self, found: re.Match[str]) -> int:
        sign, number = next((sign, found[name]) for name, sign in _MENTIONED.items() if found[name])
        name = self._mentions.get(f"<{sign}{number}>") or number
        return self._stretch(SpanKind.MENTION, f"{sign[0]}{name}", f"{sign.strip('@')}{number}", found.end())

    def _date(self, found: re.Match[str]) -> int:
        seconds = int(found["seconds"])
        try:
            at = _EPOCH + timedelta(seconds=seconds)
        except OverflowError:
            return self._show(found.group(), found.end())
        shown = f"{at:{_STYLES.get(found['style'] or '', _DEFAULT_STYLE)}}"
        return self._stretch(SpanKind.DATE, shown, str(seconds), found.end())


_READS: Mapping[str, Callable[[MarkdownReader, int], int]] = {
    "\n": MarkdownReader._new_line,
    "\\": MarkdownReader._escaped,
    "`": MarkdownReader._code,
    "<": MarkdownReader._angled,
    "[": MarkdownReader._bracket,
    "]": MarkdownReader._link,
    "@everyone": MarkdownReader._everybody,
    "@here": MarkdownReader._everybody,
}
_COUNTERPARTS = {"**": r"\*\*", "*": r"\*(?!\*)", "__": "__", "_": r"_(?!\w)", "~~": "~~", "||": r"\|\|", _BRACKET: "]"}


@lru_cache(maxsize=128)
def _counterpart(marks: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(_COUNTERPARTS[mark] for mark in sorted(marks)))
