"""Sentences that the API refuses with."""

from __future__ import annotations

UNSTORABLE = "A text has a character in it that cannot be stored: NUL (U+0000), or half of a pair. Take it out."
