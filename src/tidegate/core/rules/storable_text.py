"""Values from outside as PostgreSQL can hold them: every character but NUL and half of a surrogate pair.

Both are replaced by a visible sign, so that a reader sees where something was. What a message said originally is kept
beside it. Numbers that JSON has no sign for (infinite, not a number) are stored as text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

NUL_SIGN = "\u2400"
ORIGINALS = "tidegate_original"
"""The key of a message's stored JSON under which its original texts are kept, each as JSON in plain ASCII."""


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold the text. Every text that is stored is asked this, so it looks at no character."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def storable(text: str) -> str:
    """*text* as it is stored. Two halves that belong together become the one character they stand for."""
    if is_storable(text):
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\x00", NUL_SIGN)


def storable_json(value: Any) -> Any:
    """A JSON value with all its texts, names and numbers storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [storable_json(one) for one in value]
    if isinstance(value, Mapping):
        return {storable(str(name)): storable_json(one) for name, one in value.items()}
    return value


def originals(texts: Mapping[str, str]) -> dict[str, str]:
    """Those of the named texts that cannot be stored as they are, each as JSON from which it can be read back."""
    return {name: json.dumps(text) for name, text in texts.items() if not is_storable(text)}
