"""A text that attacks a page."""

from __future__ import annotations

HOSTILE = '<script>alert("x")</script>"\' onload=\u202e\u2066' + "ł" * 10_000
