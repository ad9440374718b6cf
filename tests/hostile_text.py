"""Texts that attack a terminal, and what a terminal must never be given: written apart from the rule that is tested."""

from __future__ import annotations

import re
import unicodedata

QUIET_ATTACK = "evil\x9b2J\x85\u202e\u2066\u200e\u061c\u200b\ufeff\U000e0041[red]"
"""Clears the screen, turns the line round and hides, without a character of ASCII's controls; and Rich's mark-up."""

ATTACK = f"{QUIET_ATTACK}\x1b]52;c;ZXZpbCE\x07\x1b[8m\r\b\x7f\u2028!"
"""Also writes the clipboard, conceals what follows, and goes back on the line."""

OWN_CODES = re.compile(r"\x1b\[(?!8m)[\d;]*m|\x1b\[\?25[lh]|\x1b\[1A|\r?\x1b\[2K")
"""What Tidegate itself tells a terminal: colours, and lines that are drawn anew. None of the attack's are among it."""

_WRITTEN_WITH = "\u200c\u200d\u06dd\u070f\u08e2\U000110bd\U000110cd\u0890\u0891" + "".join(
    map(chr, range(0x600, 0x606))
)
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")


def dangers_in(text: str, *, allowed: str = "\n\t") -> list[str]:
    """The characters in a text that steer a terminal or fool its reader, as escapes."""
    return [
        ascii(letter)
        for letter in _FLAG.sub("", text)
        if unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
        and letter not in _WRITTEN_WITH
        and letter not in allowed
    ]
