"""File names that came from outside: which are plain, and what a file is called when it is sent."""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 200
"""In characters."""

MOST_BYTES = 255
"""In UTF-8; file systems take no longer name."""

_SEPARATORS = ("/", "\\")
_DRIVE = re.compile(r"[A-Za-z]:")


def plain_file_name(name: str) -> str:
    """The name in Unicode's composed form (NFC); ``ValueError`` says why it is not a plain file name.

    A plain name cannot leave its folder on any system, and has no hidden characters.
    """
    composed = unicodedata.normalize("NFC", name)
    if why := _why_not_plain(composed):
        raise ValueError(f"The file needs a plain name; {name[:LONGEST_NAME]!a} is none: {why}.")
    return composed


def sent_file_name(name: str) -> str:
    """What a file is called when it is sent: the last step of its path, with nothing hidden or invisible in it."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(letter for letter in last if letter.isprintable()).strip().lstrip(".")
    return shown[:LONGEST_NAME] or "file"


def _why_not_plain(name: str) -> str:
    if not name:
        return "it is empty"
    if len(name) > LONGEST_NAME or len(name.encode(errors="surrogatepass")) > MOST_BYTES:
        return f"it is longer than {LONGEST_NAME} characters or {MOST_BYTES} bytes"
    if not name.isprintable():
        return "it has a character that does not show"
    if name != name.strip():
        return "it begins or ends with a space"
    # Some systems take the look-alikes for the characters themselves, such as a full-width slash.
    return _why_a_path(name) or _why_a_path(unicodedata.normalize("NFKC", name))


def _why_a_path(name: str) -> str:
    if any(one in name for one in _SEPARATORS):
        return "it is a path; give the name alone"
    if _DRIVE.match(name):
        return "it begins with a drive"
    return "it begins with a dot" if name.startswith(".") else ""
