"""The content of a message as JSON, as it is stored: fields with their default value are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from tidegate.core.message_content import MessageContent, MessageCounts

_CONTENT = TypeAdapter(MessageContent)
_COUNTS = TypeAdapter(MessageCounts)


def content_json(content: MessageContent) -> dict[str, Any]:
    """What is stored of a message's content."""
    found: dict[str, Any] = _CONTENT.dump_python(content, mode="json", exclude_defaults=True)
    return found


def counts_json(counts: MessageCounts) -> dict[str, Any]:
    """What is stored of a message's numbers."""
    found: dict[str, Any] = _COUNTS.dump_python(counts, mode="json", exclude_defaults=True)
    return found


def read_content(stored: Mapping[str, Any] | None) -> MessageContent:
    """The content that was stored; a field that this version does not know is left out."""
    return _CONTENT.validate_python(stored or {})


def read_counts(stored: Mapping[str, Any] | None) -> MessageCounts:
    """The numbers that were stored."""
    return _COUNTS.validate_python(stored or {})
