"""Channels in words, for tables and ``tidegate channel show``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted, readable_time

_SPANS = 3
_WITHIN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


def place_of(row: Mapping[str, Any]) -> str:
    """A channel's title; a thread's after that of its channel."""
    return f"{row['parent_title']}{_WITHIN}{row['title']}" if row["parent_title"] else str(row["title"])


def mirroring(row: Mapping[str, Any]) -> str:
    """What of a channel is mirrored."""
    if not row["enabled"]:
        return "no"
    what = "all messages" if row["full"] else "archives only"
    return f"{what}, selected topics" if row.get("topics") == "selected" else what


def channel_lines(shown: Mapping[str, Any]) -> list[tuple[str, object]]:
    """One channel for people: what it is, what is mirrored, what is known of it, and what is missing."""
    return [
        ("title", shown["title"]),
        ("id", shown["channel"]),
        ("platform", shown["platform"]),
        ("server", shown["server"]),
        ("kind", "forum" if shown["forum"] else shown["kind"]),
        ("description", shown["description"]),
        ("account", shown["reader"]),
        ("mirrored", mirroring(shown)),
        ("finds duplicates by", "content" if shown["hash"] else None),
        ("state", shown["state"].replace("_", " ")),
        ("remark", shown["remark"]),
        ("rate limited until", readable_time(shown["parked_until"])),
        ("last check", _last_check(shown)),
        ("next check", readable_time(shown["next_due_at"])),
        ("stored", f"{counted(shown['messages'], 'message')}, {counted(shown['archives'], 'archive')}"),
        ("to complete", counted(shown["partial_messages"], "message") if shown["partial_messages"] else None),
        *_history(shown),
        ("verified until", readable_time(shown["verified_until"])),
        ("verification ends", readable_time(shown["verification_ends_at"])),
        ("newest processed", shown["watermark"]),
        ("edits unread", " to ".join(map(str, shown["unread_changes"])) if shown["unread_changes"] else None),
        ("suspicion", shown["suspicion"]),
        *(("earlier title", f"{one['title']}, until {readable_time(one['last_seen'])}")
          for one in shown["earlier_names"]),
    ]  # fmt: skip


def _last_check(shown: Mapping[str, Any]) -> str:
    at = readable_time(shown["last_scanned_at"])
    return f"{at} ({shown['verdict']})" if at and shown["verdict"] else at


def _history(shown: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Of each kind of content which messages are there, and which are missing."""
    lines: list[tuple[str, object]] = []
    for kind, spans in shown["coverage"].items():
        missing = shown["gap_count"].get(kind, 0)
        if not spans or (kind == "messages" and not shown["full"]):
            continue
        lines.append((f"{kind} complete", _stretches(spans, shown["coverage_count"][kind])))
        if missing:
            lines.append((f"{kind} missing", _stretches(shown["gaps"][kind], missing)))
    return lines


def _stretches(spans: Sequence[Sequence[int]], count: int) -> str:
    """The newest stretches of a history, both ends included."""
    newest = spans[-_SPANS:]
    more = f", and {counted(count - len(newest), 'older stretch', 'older stretches')}" if count > len(newest) else ""
    return ", ".join(f"{low} to {high}" for low, high in newest) + more


def topic_lines(topics: Sequence[Mapping[str, Any]]) -> list[list[object]]:
    """The topics of a forum, by their titles: number, title, whether it is selected, newest message and last check."""
    return [
        [one["topic"], one["title"], "gone" if one["gone"] else "selected" if one["selected"] else "",
         one["newest_seen"] or None, _last_check(one)]
        for one in sorted(topics, key=lambda one: natural_key(one["title"]))
    ]  # fmt: skip
