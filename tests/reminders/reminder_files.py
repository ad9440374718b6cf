"""Files that reminders of tests send."""

from __future__ import annotations

POSTER = {"poster.jpg": b"a picture" * 100_000}
