"""Archives in words, for ``tidegate archive show``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.core.rules.readable_values import counted, readable_size, readable_time


def state_text(row: Mapping[str, Any]) -> str:
    """An archive's state and why, and of a failure how often it was tried and when it is tried again."""
    state = str(row["state"]).replace("_", " ")
    if row["reason"] is None:
        return state
    reason = str(row["reason"]).replace("_", " ")
    if row["state"] == "waiting":
        return f"waiting: {reason}"
    again = f", next {readable_time(row['next_try_at'])}" if row["next_try_at"] else ""
    return f"{state}: {reason}, {counted(row['attempts'], 'try', 'tries')}{again}"


def archive_lines(shown: Mapping[str, Any], preview: str) -> list[tuple[str, object]]:
    """One archive for people: what it is, where it was found, how it stands, and why it failed."""
    topic = f", topic {shown['topic']}" if shown["topic"] > 1 else ""
    return [
        ("name", shown["name"]),
        ("id", shown["id"]),
        ("state", state_text(shown)),
        ("why", shown["detail"]),
        ("waits for", shown["waits_for"]),
        ("type", shown["kind"]),
        ("size", f"{readable_size(shown['size'])} in {counted(shown['parts'], 'part')}"),
        ("missing parts", shown["missing_files"]),
        ("found in", f"{shown['title']} ({shown['channel']}){topic}"),
        ("files inside", f"{shown['contents']:,}" if shown["contents"] else "not read yet"),
        ("flags", shown["flags"]),
        ("same content as archive", shown["duplicate_of"]),
        ("done", readable_time(shown["filed_at"])),
        ("preview", preview),
        ("content hash", shown["content"]),
    ]
