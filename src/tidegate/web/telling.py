"""Events and work under way as sentences that people read on the pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.store.feed import Event
from tidegate.store.overview import Progress
from tidegate.web.rendering import counted

_COMMANDS = {
    "cycle": "a cycle",
    "backfill": "a backfill",
    "reconcile": "a comparison with the platform",
    "sync": "listing its channels",
    "look_again": "looking at its state again",
}


def told(event: Event) -> str:
    """What an event says beyond its kind and subject, in a few words; empty where that is all."""
    tell = _TOLD.get(event.kind)
    return tell(event.data) if tell else ""


def _cycle(data: Mapping[str, Any]) -> str:
    calls, messages = counted(data["calls_total"], "call"), counted(data["messages"], "message")
    return f"{calls}, {data['changed']:,} changed, {messages}"


def _read(data: Mapping[str, Any]) -> str:
    archives = data.get("archives")
    return counted(data["messages"], "message") + (f", {counted(archives, 'archive')}" if archives else "")


def _moment(written: str) -> str:
    return f"{datetime.fromisoformat(written).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _seen(*names: str) -> Callable[[Mapping[str, Any]], str]:
    """The named fields that have a value, as they are."""

    def tell(data: Mapping[str, Any]) -> str:
        return ", ".join(str(data[name]) for name in names if data.get(name))

    return tell


_TOLD: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "cycle.ended": _cycle,
    "channel.read": _read,
    "account.added": _seen("platform"),
    **dict.fromkeys(("account.paused", "account.signed_out", "account.banned"), _seen("why")),
    "archive.failed": _seen("reason", "detail"),
    "lane.paused": lambda data: f"until {_moment(data['until'])}" if data.get("until") else "",
    "reminder.fired": _seen("body"),
    "sign_in.begun": lambda data: f"from {data['client']}",
    "token.added": lambda data: ", ".join(data["scopes"]),
}


def command_words(kind: str) -> str:
    """What somebody asked for, as the end of a sentence."""
    return _COMMANDS.get(kind, kind.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Bar:
    """Work under way: how far it is, of how much where that is known, and in words."""

    title: str
    words: str
    done: int
    most: int | None


def bar(progress: Progress) -> Bar:
    """What was last told of a backfill or an archive."""
    data = progress.data
    if progress.kind == "backfill.progressed":
        depth, target = int(data.get("depth") or 0), data.get("target")
        most = int(target) if isinstance(target, int) else None
        count = f"{depth:,} of {most:,} messages" if most else counted(depth, "message")
        words = f"reading its history: {count}"
        return Bar(progress.subject, words, depth, most)
    done, size = int(data.get("done") or 0), int(data.get("size") or 0)
    doing = str(data.get("doing") or "working on it")
    return Bar(progress.subject, f"{doing}: {_megabytes(done)} of {_megabytes(size)}", done, size)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
