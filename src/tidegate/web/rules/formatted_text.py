"""A stranger's text with its formatting as markup that loads nothing, runs nothing and is always closed.

Spans may overlap, lie outside the text, or come in thousands. Of spans of one kind only one is open at a time, and
spans are always nested in the same order, so that markup is well formed whatever they are.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

from markupsafe import Markup, escape

from tidegate.core.message_content import SpanKind, TextSpan

_NONE: Mapping[str, str] = {}

MOST_SPANS = 1_000
"""Of one text; later ones are shown as plain text. Platforms allow some hundred."""

MOST_MARKUP = 100_000
"""Characters of tags in one text; what comes after them is plain text."""

_LONGEST_ADDRESS = 2_000
_SCHEMES = ("http", "https", "tg", "mailto")
_SAFE = "%/?:@!$&'()*+,;=~#[]-._"
_BARE_LINK = re.compile(r"https?://[^\s<>\"'`|]{1,2000}")
_LINKS = frozenset({SpanKind.LINK, SpanKind.EMAIL, SpanKind.MENTION})
_CODE = frozenset({SpanKind.CODE, SpanKind.CODE_BLOCK})
_BLOCKS = frozenset({SpanKind.QUOTE, SpanKind.CODE_BLOCK, SpanKind.HEADING})
_AROUND_CODE = frozenset({SpanKind.QUOTE, SpanKind.SPOILER, *_CODE})
_OUTERMOST = (SpanKind.QUOTE, SpanKind.SPOILER, SpanKind.HEADING, SpanKind.CODE_BLOCK, *sorted(_LINKS), SpanKind.CODE)
_ORDER = dict.fromkeys(SpanKind, len(_OUTERMOST)) | {kind: number for number, kind in enumerate(_OUTERMOST)}

_TAGS = {
    SpanKind.BOLD: "b",
    SpanKind.ITALIC: "i",
    SpanKind.UNDERLINE: "u",
    SpanKind.STRIKE: "s",
    SpanKind.CODE: "code",
    SpanKind.QUOTE: "blockquote",
    SpanKind.SMALL: "small",
    SpanKind.INSERTED: "ins",
    SpanKind.DELETED: "del",
}
_CLASSES = {
    SpanKind.MENTION: "mention",
    SpanKind.HASHTAG: "tag",
    SpanKind.CASHTAG: "tag",
    SpanKind.COMMAND: "tag",
    SpanKind.PHONE: "tag",
    SpanKind.BANK_CARD: "tag",
    SpanKind.CUSTOM_EMOJI: "emoji",
    SpanKind.DATE: "date",
    SpanKind.REPLACED: "replaced",
    SpanKind.UNSUPPORTED: "unsupported",
}
_TITLES = {
    SpanKind.CUSTOM_EMOJI: "custom emoji",
    SpanKind.REPLACED: "before: {}",
    SpanKind.DATE: "{}",
    SpanKind.UNSUPPORTED: "unsupported formatting: {}",
}


def formatted(text: str, spans: Iterable[TextSpan], *, people_at: str = "", emoji: Mapping[str, str] = _NONE) -> Markup:
    """A text as markup. *people_at* is where a mentioned person's page is, to which their number is added.

    *emoji* are the addresses of pictures of custom emoji, by their numbers.
    """
    plain = Markup("")
    pieces = [plain]
    writer = _Writer(text, people_at, emoji, pieces)
    writer.write(_usable(text, spans))
    return plain.join(pieces)


def cut_spans(spans: Iterable[TextSpan], start: int, end: int) -> list[TextSpan]:
    """The spans of a piece of a text, counted from its start."""
    inside = (replace(one, start=max(one.start, start) - start, end=min(one.end, end) - start) for one in spans)
    return [one for one in inside if one.start < one.end]


def safe_address(written: str) -> str | None:
    """An address that a link may lead to; None for one that does more than open a page, a chat or a mail."""
    if not written or len(written) > _LONGEST_ADDRESS or not written.isprintable():
        return None
    try:
        parts = urlsplit(written.strip())
    except ValueError:
        return None
    if not parts.scheme:
        return safe_address(f"https://{written.strip()}") if _has_host(written) else None
    has_host = parts.scheme not in ("http", "https") or bool(parts.netloc)
    return quote(written.strip(), safe=_SAFE) if parts.scheme in _SCHEMES and has_host else None


def host_of(address: str) -> str:
    """The host that a link leads to, in the letters that a computer reads; empty where it leads to none."""
    try:
        host = urlsplit(address).hostname or ""
        return host if host.isascii() else host.encode("idna").decode()
    except (ValueError, UnicodeError):
        return ""


def links_to(text: str, address: str) -> bool:
    """Whether a link's own text already says to which host it leads."""
    host = host_of(address)
    said = text.strip()
    if not host or "@" in said:
        return not host
    return said.casefold() == address.casefold() or host_of(said if "//" in said else f"https://{said}") == host


def bare_links(text: str, spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Addresses in a text that no span covers, as links."""
    taken = [one for one in spans if one.kind in _LINKS | _CODE]
    found = [TextSpan(SpanKind.LINK, *_bounds(match)) for match in _BARE_LINK.finditer(text)]
    return [one for one in found if not any(other.start < one.end and one.start < other.end for other in taken)]


def _bounds(match: re.Match[str]) -> tuple[int, int]:
    """Where an address in a text ends: what closes a sentence or a bracket around it is not a part of it."""
    written = match[0]
    kept = written.rstrip(".,;:!?…")
    while kept.endswith(")") and kept.count(")") > kept.count("("):
        kept = kept[:-1].rstrip(".,;:!?…")
    return match.start(), match.start() + len(kept)


def _has_host(written: str) -> bool:
    """Whether a text without a scheme is an address, such as example.org/page."""
    return re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d{1,5})?([/?#].*)?", written.strip()) is not None


def _usable(text: str, spans: Iterable[TextSpan]) -> list[TextSpan]:
    """The spans that lie within the text, in the order in which they open."""
    length = len(text)
    inside = [
        replace(one, start=max(0, one.start), end=min(length, one.end))
        for one in spans
        if one.start < length and one.end > 0 and one.start < one.end
    ]
    return sorted(inside[:MOST_SPANS], key=lambda one: (one.start, _ORDER[one.kind], -one.end))


@dataclass(slots=True)
class _Writer:
    """Writes a text from its start to its end, with a stack of the spans that are open."""

    text: str
    people_at: str
    emoji: Mapping[str, str]
    pieces: list[Markup]

    def write(self, spans: Sequence[TextSpan]) -> None:
        waiting = deque(spans)
        active: dict[SpanKind, deque[TextSpan]] = {}
        stack: list[TextSpan] = []
        spent, at = 0, 0
        for place in sorted({0, len(self.text), *(one.start for one in spans), *(one.end for one in spans)}):
            self._text(at, place, after=stack)
            at = place
            while waiting and waiting[0].start <= place:
                one = waiting.popleft()
                active.setdefault(one.kind, deque()).append(one)
            wanted = _nested(active, place) if spent < MOST_MARKUP else []
            spent += self._turn(stack, wanted, place)
        self._turn(stack, [], at)

    def _text(self, start: int, end: int, *, after: Sequence[TextSpan]) -> None:
        """A piece of the text; a line end beside a block is shown by the block itself."""
        piece = self.text[start:end]
        if piece and self._beside_block(start) and not any(one.kind in _BLOCKS for one in after):
            piece = piece.removeprefix("\n")
        if piece:
            self.pieces.append(escape(piece))

    def _beside_block(self, start: int) -> bool:
        return start > 0 and bool(self.pieces) and self.pieces[-1].endswith(("</blockquote>", "</pre>", "</strong>"))

    def _turn(self, stack: list[TextSpan], wanted: Sequence[TextSpan], place: int) -> int:
        """Close and open what is needed for *wanted* to be open; returns how many characters of tags that took."""
        shared = 0
        while shared < min(len(stack), len(wanted)) and stack[shared] is wanted[shared]:
            shared += 1
        tags = [self._closing(one, ended=one.end <= place) for one in reversed(stack[shared:])]
        tags += [self._opening(one) for one in wanted[shared:]]
        stack[shared:] = wanted[shared:]
        self.pieces += tags
        return sum(map(len, tags))

    def _opening(self, one: TextSpan) -> Markup:
        if one.kind in _OPENED_BY or self._is_pictured(one):
            return _OPENED_BY.get(one.kind) or _PICTURED.format(self.emoji[one.target])
        if one.kind is SpanKind.CODE_BLOCK:
            said = Markup(' data-language="{}"').format(one.target[:40]) if one.target else Markup("")
            return Markup("<pre{}>").format(said)
        if (moment := _moment(one)) is not None:
            return Markup('<time datetime="{}">').format(moment)
        if (address := self._address(one)) is not None:
            ours = one.kind is SpanKind.MENTION
            return (_OWN_LINK if ours else _LINK).format(address)
        if one.kind in _TAGS:
            return Markup("<{}>").format(_TAGS[one.kind])
        title = _TITLES.get(one.kind, "").replace("{}", one.target[:200])
        shown = Markup(' title="{}"').format(title) if title else Markup("")
        return Markup('<span class="{}"{}>').format(_CLASSES.get(one.kind, "link"), shown)

    def _closing(self, one: TextSpan, *, ended: bool) -> Markup:
        if one.kind in _CLOSED_BY:
            return _CLOSED_BY[one.kind]
        if _moment(one) is not None:
            return Markup("</time>")
        address = self._address(one)
        if address is not None:
            told = not ended or one.kind is not SpanKind.LINK or links_to(self.text[one.start : one.end], address)
            return Markup("</a>") if told else Markup('</a><span class="host"> ({})</span>').format(host_of(address))
        return _PICTURED_END if self._is_pictured(one) else Markup("</{}>").format(_TAGS.get(one.kind, "span"))

    def _is_pictured(self, one: TextSpan) -> bool:
        return one.kind is SpanKind.CUSTOM_EMOJI and one.target in self.emoji

    def _address(self, one: TextSpan) -> str | None:
        if one.kind is SpanKind.LINK:
            return safe_address(one.target or self.text[one.start : one.end])
        if one.kind is SpanKind.EMAIL:
            written = self.text[one.start : one.end]
            return safe_address(f"mailto:{written}") if re.fullmatch(r"[^\s?&:]+@[^\s?&:@]+", written) else None
        is_person = one.kind is SpanKind.MENTION and self.people_at and re.fullmatch(r"-?[0-9]{1,19}", one.target)
        return f"{self.people_at}{one.target}" if is_person else None


_LINK = Markup('<a href="{}" rel="noopener noreferrer nofollow ugc" target="_blank">')
_OWN_LINK = Markup('<a class="mention" href="{}">')
_SPOILER = Markup(
    '<label class="spoiler"><input type="checkbox" autocomplete="off" aria-label="Show the hidden text"><span>'
)
"""A checkbox opens it by mouse and keyboard, without script; until then screen readers do not read it either."""

_PICTURED = Markup('<span class="emoji"><img src="{}" alt="" loading="lazy" decoding="async"><span class="unseen">')
_PICTURED_END = Markup("</span></span>")
"""The emoji that stands in the text is read aloud and copied; its picture is seen."""

_OPENED_BY = {SpanKind.SPOILER: _SPOILER, SpanKind.HEADING: Markup('<strong class="heading">')}
_CLOSED_BY = {
    SpanKind.SPOILER: Markup("</span></label>"),
    SpanKind.HEADING: Markup("</strong>"),
    SpanKind.CODE_BLOCK: Markup("</pre>"),
}


def _moment(one: TextSpan) -> str | None:
    """The instant that a date stands for, which the page's script shows in the browser's time zone; None for none."""
    if one.kind is not SpanKind.DATE or re.fullmatch(r"-?[0-9]{1,12}", one.target) is None:
        return None
    try:
        return datetime.fromtimestamp(int(one.target), UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


def _nested(active: dict[SpanKind, deque[TextSpan]], place: int) -> list[TextSpan]:
    """Of the spans that are active at a place, those to open: one of a kind, one link, and little around code."""
    found = []
    for kind in list(active):
        while active[kind] and active[kind][0].end <= place:
            active[kind].popleft()
        if active[kind]:
            found.append(active[kind][0])
        else:
            del active[kind]
    in_code = any(one.kind in _CODE for one in found)
    links = sorted((one for one in found if one.kind in _LINKS), key=lambda one: one.start)[1:]
    kept = [one for one in found if one not in links and (not in_code or one.kind in _AROUND_CODE)]
    return sorted(kept, key=lambda one: (_ORDER[one.kind], one.start))
