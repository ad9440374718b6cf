"""Placeholders in the texts of a reminder, such as ``{group}``: checked, filled in, and put back into a filled text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter

PLACEHOLDERS = ("group", "date", "time", "reminder")
"""The names that texts and captions may have in braces. ``{{`` is a brace itself."""


def check_placeholders(text: str) -> None:
    """``ValueError`` with the end of a sentence for a placeholder that is unknown or badly written."""
    known = ", ".join("{" + name + "}" for name in PLACEHOLDERS)
    try:
        used = [
            (field, conversion, spec) for _, field, spec, conversion in Formatter().parse(text) if field is not None
        ]
    except ValueError as problem:
        raise ValueError("has a brace without its partner; write {{ for a brace itself.") from problem
    for field, conversion, spec in used:
        if field not in PLACEHOLDERS or conversion or spec:
            name = field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            raise ValueError(f"has the placeholder {{{name}}}, which nothing fills; there are: {known}.")


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders filled in; ``ValueError`` names one that has no value."""
    try:
        return text.format_map(values)
    except (KeyError, ValueError, IndexError, AttributeError) as problem:
        raise ValueError(f"A text has a placeholder that nothing fills: {problem}.") from problem


def template_of(filled: Sequence[tuple[str, str]]) -> str | None:
    """The text that gives each of these groups its own, by pairs of a title and its text; None where there is none.

    The result is proven: filled in for every title it gives exactly the text beside it.
    """
    title, text = filled[0]
    literal = _escaped(text)
    candidates = [literal, literal.replace(_escaped(title), "{group}")] if title else [literal]
    for candidate in candidates:
        if all(candidate.format(group=group) == wanted for group, wanted in filled):
            return candidate
    return None


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
