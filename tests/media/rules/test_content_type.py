"""The type of a file, by its bytes alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.media.rules.content_type import HEAD, UNKNOWN, content_type


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0????", UNKNOWN),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (b"\x1aE\xdf\xa3", "video/webm"),
        (b"OggS", "audio/ogg"),
        (b"\xff\xfb\x90", "audio/mpeg"),
        (b"<svg xmlns=", UNKNOWN),
        (b"<!doctype html>", UNKNOWN),
        (b"", UNKNOWN),
    ],
)
def test_types_by_their_first_bytes(head, kind):
    """A page or a drawing with scripts is never taken for a picture, whatever its name says."""
    assert content_type(head) == kind


@given(st.binary(max_size=HEAD))
def test_any_bytes_have_a_type(head):
    """No bytes can break the reader."""
    assert "/" in content_type(head)
