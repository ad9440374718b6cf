"""What a browser is told about a stored file: shown or downloaded, its name, and which bytes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.rules.file_response_headers import (
    ByteRange,
    NoSuchBytes,
    disposition,
    is_inline,
    named_tag,
    read_range,
)


@pytest.mark.parametrize(
    ("written", "range_"),
    [
        (None, None),
        ("bytes=0-9", ByteRange(0, 10)),
        ("bytes=90-", ByteRange(90, 10)),
        ("bytes=-5", ByteRange(95, 5)),
        ("bytes=-500", ByteRange(0, 100)),
        ("bytes=5-5000", ByteRange(5, 95)),
        ("BYTES = 0 - 9", None),
        ("bytes=9-0", None),
        ("bytes=0-1,5-9", None),
        ("bytes=", None),
        ("bytes=--5", None),
        ("items=0-1", None),
        ("bytes=" + "9" * 5_000 + "-", None),
        ("bytes=٣-٤", None),
    ],
)
def test_a_single_range_is_read_and_any_other_is_ignored(written: str | None, range_: ByteRange | None) -> None:
    """A range that is not understood gives the whole file, as HTTP asks for."""
    assert read_range(written, 100) == range_


@pytest.mark.parametrize("written", ["bytes=100-", "bytes=999999999999999999-", "bytes=-0", "bytes=100-200"])
def test_bytes_beyond_the_file_are_refused(written: str) -> None:
    """Nothing outside the file can be named."""
    with pytest.raises(NoSuchBytes):
        read_range(written, 100)


@given(st.text(max_size=40), st.integers(0, 1_000))
def test_a_range_is_always_inside_the_file(written: str, size: int) -> None:
    """Whatever is asked for, no byte outside the file is read."""
    for prefix in ("", "bytes="):
        try:
            found = read_range(prefix + written, size)
        except NoSuchBytes:
            continue
        assert found is None or (found.first >= 0 and found.length > 0 and found.first + found.length <= size)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("photo.jpg", 'attachment; filename="photo.jpg"'),
        ("../../etc/passwd", 'attachment; filename="passwd"'),
        ("..\\..\\boot.ini", 'attachment; filename="boot.ini"'),
        ('a"; filename="evil.exe', 'attachment; filename="a_; filename=_evil.exe"'),
        ("a\r\nSet-Cookie: x=1", 'attachment; filename="aSet-Cookie_ x=1"'),
        ("photo\u202egpj.exe", 'attachment; filename="photogpj.exe"'),
        ("", 'attachment; filename="file"'),
        ("...", 'attachment; filename="file"'),
        (".htaccess", 'attachment; filename="htaccess"'),
        ("CON.txt", 'attachment; filename="_CON.txt"'),
        ("Grüße.pdf", "attachment; filename=\"Gr__e.pdf\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.pdf"),
        ("a%41.txt", "attachment; filename=\"a_41.txt\"; filename*=UTF-8''a%2541.txt"),
    ],
)
def test_a_name_is_plain(name: str, header: str) -> None:
    """No folder, no control or direction character, and nothing that ends the header's quotes."""
    assert disposition(name, inline=False) == header


@given(st.text())
def test_no_name_breaks_the_header(name: str) -> None:
    """The header is one line of ASCII with a name of its own, whatever a sender called the file."""
    header = disposition(name, inline=True)
    assert header.startswith('inline; filename="')
    assert (header.isascii(), header.isprintable(), header.count('"')) == (True, True, 2)
    assert not set("/\\") & set(header.split('"')[1])


@pytest.mark.parametrize(
    ("kind", "inline"),
    [
        ("image/png", True), ("image/jpeg", True), ("image/gif", True), ("image/webp", True), ("image/avif", True),
        ("video/mp4", True), ("video/webm", True), ("audio/ogg", True), ("audio/mpeg", True), ("audio/mp4", True),
        ("audio/wav", True), ("audio/flac", True),
        ("image/svg+xml", False), ("text/html", False), ("application/pdf", False), ("application/octet-stream", False),
        ("image/heic", False), ("", False),
    ],
)  # fmt: skip
def test_only_listed_types_are_shown(kind: str, inline: bool) -> None:
    """Everything else is downloaded."""
    assert is_inline(kind) is inline


def test_a_tag_names_the_content() -> None:
    """The same bytes have the same tag, and a list of tags or a star finds it."""
    tag = '"ab"'
    assert [named_tag(one, tag) for one in (None, '"x"', '"ab"', 'W/"ab"', '"x", "ab"', "*")] == [
        False, False, True, True, True, True,
    ]  # fmt: skip
