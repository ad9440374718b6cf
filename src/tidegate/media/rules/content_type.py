"""The type of a file by its first bytes; the type that its sender states is not trusted. Pure."""

from __future__ import annotations

UNKNOWN = "application/octet-stream"
HEAD = 64
"""How many first bytes decide the type."""

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"\x1aE\xdf\xa3": "video/webm",
    b"OggS": "audio/ogg",
    b"ID3": "audio/mpeg",
    b"fLaC": "audio/flac",
    b"%PDF-": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
    b"Rar!\x1a\x07": "application/vnd.rar",
    b"\x1f\x8b": "application/gzip",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"M4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
}


def content_type(head: bytes) -> str:
    """The media type that the first ``HEAD`` bytes prove; ``UNKNOWN`` for texts and everything else."""
    for mark, kind in _SIGNATURES.items():
        if head.startswith(mark):
            return kind
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], UNKNOWN)
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2:
        return "audio/mpeg"
    return UNKNOWN
