"""Values as people read them: times in one format, sizes with a unit, counts with their noun."""

from __future__ import annotations

from datetime import datetime, tzinfo


def readable_time(at: datetime | str | None, zone: tzinfo | None = None) -> str:
    """An instant on the clock of *zone*, or of this machine: ``2026-11-18 09:00 UTC``. Empty where there is none."""
    if at is None:
        return ""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def readable_size(count: int) -> str:
    """Bytes as people read them: 12.3 MB."""
    length, unit = float(count), "bytes"
    for further in ("kB", "MB", "GB", "TB"):
        if length < 1_000:
            break
        length, unit = length / 1_000, further
    return counted(count, "byte") if unit == "bytes" else f"{length:.1f} {unit}"


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: 1 message, 1,086 messages; *nouns* where an s does not make the plural."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def yes_or_no(value: object) -> str:
    """A switch as people read it."""
    return "yes" if value else "no"
