"""The child process that draws thumbnails of pictures, which cannot be trusted.

It gets a whole file and gives back a picture that it drew itself, or a reason. Only formats on a list are opened, and
the pixels are counted from the header before one is unpacked. Nothing is copied from the file but how it looks.
"""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any

from PIL import AvifImagePlugin, Image, ImageFile, ImageOps

from tidegate.core.child_protocol import read_from
from tidegate.core.sandbox.child_limits import bind, tell_parent

FORMATS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/avif": "AVIF",
}
"""The formats that are opened, by the type that the content of a file has."""

_DAMAGED = "The picture is damaged, or is none."
_NONSENSE = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, RuntimeError,
    struct.error, zlib.error, Image.DecompressionBombError,
)  # fmt: skip
"""The errors that Pillow raises for an invalid file."""


class _Refused(Exception):
    """There is a reason why no thumbnail is drawn."""


def main() -> None:
    """Answer jobs from standard input until it ends."""
    _load_formats()
    tell_parent({"ready": True})
    while (asked := read_from(sys.stdin.buffer)) is not None:
        job = asked.head
        bind(job["memory"], job["seconds"])
        tell_parent(*_answer(job, asked.body))


def _load_formats() -> None:
    """Draw a thumbnail in every format: libraries are loaded from files, and no file can be opened later."""
    Image.MAX_IMAGE_PIXELS = None  # counted here, with a sentence
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    for kind, form in FORMATS.items():
        into = io.BytesIO()
        Image.new("RGB", (8, 8)).save(into, form)
        _answer({"kind": kind, "edge": 4, "pixels": 64}, into.getvalue())


def _answer(job: Mapping[str, Any], content: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        return {}, _thumbnail(content, FORMATS[job["kind"]], edge=job["edge"], pixels=job["pixels"])
    except _Refused as reason:
        return {"refused": str(reason)}, b""
    except MemoryError:
        return {"refused": "The picture needs more memory or time than allowed."}, b""
    except _NONSENSE:
        return {"refused": _DAMAGED}, b""


def _thumbnail(content: bytes, form: str, *, edge: int, pixels: int) -> bytes:
    with Image.open(io.BytesIO(content), formats=[form]) as found:
        width, height = found.size
        if width * height > pixels:
            raise _Refused(f"The picture has {width * height:,} pixels, more than are unpacked.")
        found.draft("RGB", (2 * edge, 2 * edge))  # a JPEG is unpacked in the size that is needed
        drawn = _plain(found)
    drawn.thumbnail((edge, edge))
    drawn = ImageOps.exif_transpose(drawn)
    drawn.info.clear()
    into = io.BytesIO()
    drawn.save(into, "WEBP", quality=80, exif=b"")
    return into.getvalue()


def _plain(found: Image.Image) -> Image.Image:
    """The first frame in plain colours, see-through where it was."""
    if found.mode.startswith("I;16"):
        return found.point(lambda value: value / 256).convert("L").convert("RGB")
    clear = found.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in found.info
    return found.convert("RGBA" if clear else "RGB")


if __name__ == "__main__":
    main()
