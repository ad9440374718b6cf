"""Sentences of the engine as a page shows them: without commands for a terminal, which a web user does not have."""

from __future__ import annotations

import re

_CLAUSE = re.compile(r"(?:[;,:]| -)?(?: or)?(?:[^.;:!?]|\.(?=\S))*?:? ?\btidegate [a-z]+\b.*$", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z\"])")


def without_commands(text: str) -> str:
    """The text without each sentence, or end of a sentence, that asks for a ``tidegate`` command."""
    return " ".join(kept for one in _SENTENCE.split(text) if (kept := _kept(one)))


def _kept(sentence: str) -> str:
    found = _CLAUSE.search(sentence)
    if found is None:
        return sentence
    left = sentence[: found.start()].rstrip(" ;,:")
    return f"{left}." if left else ""
