"""A stranger's text as markup: what is formatted is, and nothing else comes of it."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.message_content import SpanKind, TextSpan
from tidegate.web.rules.formatted_text import MOST_MARKUP, bare_links, cut_spans, formatted, links_to, safe_address

B, IT, LINK, CODE = SpanKind.BOLD, SpanKind.ITALIC, SpanKind.LINK, SpanKind.CODE
WAYS = 'rel="noopener noreferrer nofollow ugc" target="_blank"'
HOST = '<span class="host"> (x.org)</span>'
GLOW = "unsupported formatting: Glow"


class Reader(HTMLParser):
    """What markup says: its text without the hosts of links, and whether every tag is closed in order."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.whole, self.is_host = "", True, False
        self.open: list[str] = []
        self.feed(str(markup))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_host = ("class", "host") in attrs
        self.check(attrs)
        if tag != "input":
            self.open.append(tag)

    def check(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert name in ("class", "href", "rel", "target", "title", "type", "autocomplete", "aria-label",
                            "data-language", "datetime"), name  # fmt: skip
            if name == "href":
                assert urlsplit(value or "").scheme in ("http", "https", "tg", "mailto", "")

    def handle_endtag(self, tag: str) -> None:
        self.is_host = False
        self.whole = self.whole and bool(self.open) and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += "" if self.is_host else data


def test_a_custom_emoji_is_a_picture_beside_its_text() -> None:
    """The picture is one of ours; what stands in the text is read aloud. Without a picture the text is seen."""
    spans = [TextSpan(SpanKind.CUSTOM_EMOJI, 0, 1, "7"), TextSpan(SpanKind.CUSTOM_EMOJI, 1, 2, '"><script>')]
    markup = str(formatted("⚓🙂", spans, emoji={"7": "/files/7?a=1&b=2"}))
    picture = '<img src="/files/7?a=1&amp;b=2" alt="" loading="lazy" decoding="async">'
    assert markup == (
        f'<span class="emoji">{picture}<span class="unseen">⚓</span></span>'
        '<span class="emoji" title="custom emoji">🙂</span>'
    )


@pytest.mark.parametrize(
    ("text", "spans", "markup"),
    [
        ("plain <b>", [], "plain &lt;b&gt;"),
        ("one two", [TextSpan(B, 0, 3)], "<b>one</b> two"),
        ("abcd", [TextSpan(B, 0, 3), TextSpan(IT, 1, 4)], "<b>a<i>bc</i></b><i>d</i>"),
        ("abcd", [TextSpan(B, 0, 4), TextSpan(IT, 1, 3)], "<b>a<i>bc</i>d</b>"),
        ("ab", [TextSpan(B, -5, 99), TextSpan(IT, 2, 1), TextSpan(IT, 7, 9)], "<b>ab</b>"),
        ("😀b", [TextSpan(B, 1, 2)], "😀<b>b</b>"),
        ("a\nq\nb", [TextSpan(SpanKind.QUOTE, 2, 3)], "a\n<blockquote>q</blockquote>b"),
        ("x=1", [TextSpan(SpanKind.CODE_BLOCK, 0, 3, 'py"')], '<pre data-language="py&#34;">x=1</pre>'),
        ("ab", [TextSpan(CODE, 0, 2), TextSpan(B, 0, 2)], "<code>ab</code>"),
        ("x", [TextSpan(SpanKind.UNSUPPORTED, 0, 1, "Glow")], f'<span class="unsupported" title="{GLOW}">x</span>'),
        ("Ada", [TextSpan(SpanKind.MENTION, 0, 3, "501")], '<a class="mention" href="/people/telegram/501">Ada</a>'),
        ("T\nx", [TextSpan(SpanKind.HEADING, 0, 1, "1")], '<strong class="heading">T</strong>x'),
        ("noon", [TextSpan(SpanKind.DATE, 0, 4, "0")], '<time datetime="1970-01-01T00:00:00+00:00">noon</time>'),
        ("noon", [TextSpan(SpanKind.DATE, 0, 4, "9" * 30)], f'<span class="date" title="{"9" * 30}">noon</span>'),
        ("@ada", [TextSpan(SpanKind.MENTION, 0, 4)], '<span class="mention">@ada</span>'),
        ("a@b.c", [TextSpan(SpanKind.EMAIL, 0, 5)], f'<a href="mailto:a@b.c" {WAYS}>a@b.c</a>'),
        ("x.org", [TextSpan(LINK, 0, 5)], f'<a href="https://x.org" {WAYS}>x.org</a>'),
        ("here", [TextSpan(LINK, 0, 4, "https://x.org/a")], f'<a href="https://x.org/a" {WAYS}>here</a>{HOST}'),
        ("y.org", [TextSpan(LINK, 0, 5, "https://x.org/")], f'<a href="https://x.org/" {WAYS}>y.org</a>{HOST}'),
        ("bad", [TextSpan(LINK, 0, 3, "javascript:alert(1)")], '<span class="link">bad</span>'),
    ],
)  # fmt: skip
def test_formatting_as_markup(text: str, spans: list[TextSpan], markup: str) -> None:
    """Nested, overlapping and broken spans; links say to which host they lead."""
    assert formatted(text, spans, people_at="/people/telegram/") == markup


def test_a_spoiler_opens_without_script() -> None:
    """A checkbox with a name opens it, by mouse and keyboard."""
    shown = formatted("it ends well", [TextSpan(SpanKind.SPOILER, 3, 7)])
    assert shown.count('<input type="checkbox" autocomplete="off" aria-label="Show the hidden text">') == 1


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://x.org/ä", "https://x.org/%C3%A4"),
        ("HTTPS://x.org", "HTTPS://x.org"),
        ("tg://resolve?domain=x", "tg://resolve?domain=x"),
        ("x.org/path?q=1", "https://x.org/path?q=1"),
        ("https://good.org\\@evil.org", "https://good.org%5C@evil.org"),
        ("javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("data:text/html,x", None),
        ("vbscript:x", None),
        ("file:///etc/passwd", None),
        ("//evil.org", None),
        ("https:", None),
        ("https://[", None),
        ("/channels/1/disable", None),
        ("just words", None),
        ("https://x.org/" + "a" * 3_000, None),
    ],
)
def test_an_address_leads_to_a_page_a_chat_or_a_mail(written: str, address: str | None) -> None:
    """Nothing that runs, nothing of our own pages."""
    assert safe_address(written) == address


@pytest.mark.parametrize(
    ("text", "address", "told"),
    [
        ("https://x.org/a", "https://x.org/a", True),
        ("x.org", "https://x.org/a", True),
        ("https://x.org@evil.org/", "https://x.org@evil.org/", False),
        ("https://x.org", "https://evil.org/", False),
        ("x.org", "https://x.org@evil.org/", False),
        ("click", "mailto:a@b.c", True),
        ("\u0440\u0430\u0443pal.com", "https://paypal.com", False),
    ],
)
def test_a_link_says_where_it_leads(text: str, address: str, told: bool) -> None:
    """Only a text that names the very host may stand alone."""
    assert links_to(text, address) is told


def test_addresses_in_a_plain_text_are_links() -> None:
    """Without the full stop or the bracket that follows them, and not within code."""
    text = "See (https://x.org/a_(b)). And https://y.org, `https://z.org`"
    code = TextSpan(CODE, text.index("https://z"), len(text) - 1)
    assert [text[one.start : one.end] for one in bare_links(text, [code])] == ["https://x.org/a_(b)", "https://y.org"]


SPANS = st.lists(
    st.builds(TextSpan, st.sampled_from(SpanKind), st.integers(-5, 60), st.integers(-5, 60), st.text(max_size=30)),
    max_size=30,
)


@given(text=st.text(max_size=50), spans=SPANS)
def test_any_spans_give_whole_markup_with_the_same_text(text: str, spans: list[TextSpan]) -> None:
    """Every tag is closed in order, attributes are ours, and no character is lost but line ends beside blocks."""
    shown = Reader(formatted(text, spans, people_at="/people/telegram/"))
    assert (shown.whole, shown.open) == (True, [])
    assert shown.text.replace("\n", "") == text.replace("\n", "")


@given(text=st.text(max_size=80), spans=SPANS, at=st.integers(0, 80))
def test_a_text_is_cut_with_its_formatting(text: str, spans: list[TextSpan], at: int) -> None:
    """Both pieces together have every formatted character."""
    where = min(at, len(text))
    first, rest = cut_spans(spans, 0, where), cut_spans(spans, where, len(text))
    covered = {(one.kind, place) for one in spans for place in range(max(0, one.start), min(len(text), one.end))}
    assert covered == {
        *((one.kind, place) for one in first for place in range(one.start, one.end)),
        *((one.kind, place + where) for one in rest for place in range(one.start, one.end)),
    }


@pytest.mark.parametrize(
    "spans",
    [
        [TextSpan(kind, n, 20_000 - n, "https://x.org/" + "a" * 1_900) for n in range(10_000) for kind in (B, LINK)],
        [TextSpan([*SpanKind][n % len(SpanKind)], n, n + 7_000, "x" * 500) for n in range(10_000)],
        [TextSpan(SpanKind.SPOILER, n, n + 1) for n in range(10_000)],
    ],
    ids=["nested", "overlapping", "many"],
)
def test_ten_thousand_spans_are_shown_within_bounds(spans: list[TextSpan]) -> None:
    """However many there are and however they lie, the page stays small, and the text is whole."""
    shown = formatted("x" * 20_000, spans)
    assert len(shown) < 20_000 + MOST_MARKUP + 50_000
    assert Reader(shown).text == "x" * 20_000
