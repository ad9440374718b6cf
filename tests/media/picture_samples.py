"""Pictures, sounds and films as files: real ones, and those that only pretend."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def picture(form: str = "PNG", size: tuple[int, int] = (640, 480), colour: str = "#2e86c1") -> bytes:
    """A picture of one colour with a lighter part, in any format that Pillow writes."""
    made = Image.new("RGB", size, colour)
    made.paste(Image.new("RGB", (size[0] // 2, size[1] // 2), "#f5f5f5"), (size[0] // 4, size[1] // 4))
    into = io.BytesIO()
    made.save(into, form)
    return into.getvalue()


def animation(frames: int = 3) -> bytes:
    """A GIF that moves."""
    pictures = [Image.new("RGB", (64, 64), (80 * number, 0, 0)) for number in range(frames)]
    into = io.BytesIO()
    pictures[0].save(into, "GIF", save_all=True, append_images=pictures[1:])
    return into.getvalue()


def png_of(width: int, height: int, rows: bytes = b"") -> bytes:
    """A PNG whose header claims a size, with whatever rows."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


SCRIPT = b"<script>alert(document.cookie)</script>"
HTML = b"<!doctype html><title>x</title>" + SCRIPT
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">' + SCRIPT + b"</svg>"
GIF_SCRIPT = b"GIF89a=1;alert(document.cookie);/*" + b"\x00" * 20 + b"*/"
PDF_HTML = b"%PDF-1.7\n" + HTML
PNG_SCRIPT = picture() + SCRIPT
JPEG_HTML = picture("JPEG") + HTML
ZIP_HTML = b"PK\x03\x04" + HTML
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) (r) file"
OGG = b"OggS" + b"\x00" * 400
MP4 = b"\x00\x00\x00\x18ftypisom" + b"\x00" * 400
