"""The response headers of a stored file: whether it is shown, what it is called, and which bytes it gets. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from tidegate.archives.rules.file_names import safe_name

DOWNLOADED_AS = "application/octet-stream"
"""The type of everything that is not shown: a browser has nothing to open it with."""

INLINE = frozenset(
    {
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif",
        "video/mp4", "video/webm",
        "audio/ogg", "audio/mpeg", "audio/mp4", "audio/wav", "audio/flac",
    }
)  # fmt: skip
"""Types that hold no script. Neither SVG nor PDF is among them."""

_SINGLE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)
_LONGEST = 150  # characters of a name; a header is not longer than proxies take


class NoSuchBytes(Exception):
    """The range lies outside the file."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Some bytes of a file."""

    first: int
    length: int


def is_inline(kind: str) -> bool:
    """Whether a browser may show a file of this type, which was decided from its content."""
    return kind in INLINE


def read_range(written: str | None, size: int) -> ByteRange | None:
    """The bytes that a ``Range`` header asks for; None for the whole file.

    Several ranges, and what is not understood, are ignored as HTTP allows. ``NoSuchBytes`` where none is in the file.
    """
    found = _SINGLE.fullmatch(written or "")
    if found is None or found[1] == found[2] == "":
        return None
    if found[1] == "":
        length = min(int(found[2]), size)
        first = size - length
    else:
        first, last = int(found[1]), int(found[2] or size - 1)
        if found[2] and last < first:
            return None
        length = min(last, size - 1) - first + 1
    if length <= 0:
        raise NoSuchBytes
    return ByteRange(first, length)


def disposition(name: str, *, inline: bool) -> str:
    """The ``Content-Disposition`` header (RFC 6266), with a name that leads nowhere and hides nothing."""
    plain = _shortened(safe_name(name).lstrip(".")) or "file"
    ascii_name = re.sub(r'[^ -~]|["\\%/]', "_", plain)
    further = "" if ascii_name == plain else f"; filename*=UTF-8''{quote(plain, safe='')}"
    return f'{"inline" if inline else "attachment"}; filename="{ascii_name}"{further}'


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 24] + name[-24:]


def named_tag(written: str | None, tag: str) -> bool:
    """Whether an ``If-None-Match`` header names the content that has this *tag*."""
    tags = [one.strip().removeprefix("W/") for one in (written or "").split(",")]
    return "*" in tags or tag in tags
