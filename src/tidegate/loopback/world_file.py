"""Stores the platforms' worlds in one file, so that they survive a restart of the process."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput

_FORM = 3
_EVERY = timedelta(seconds=1)


class Worlds(Protocol):
    """The stored worlds, by platform."""

    @property
    def version(self) -> object: ...

    def as_plain(self) -> dict[str, Any]: ...


def save(path: Path, worlds: Worlds) -> None:
    """Write the worlds whole, or not at all: a reader never sees half of them."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(json.dumps({"form": _FORM, **worlds.as_plain()}))
    unfinished.replace(path)


def load(path: Path) -> dict[str, Any]:
    """The worlds in a file, by platform; ``BadInput`` when there are none."""
    try:
        held = json.loads(path.read_text())
        form = held["form"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise keeps_nothing(path) from problem
    if form != _FORM:
        raise BadInput(f"{path} was written by another release; remove it to begin with a new world.")
    return dict(held)


def keeps_nothing(path: Path) -> BadInput:
    return BadInput(f"{path} keeps no loopback world; remove it to begin with a new one.")


async def keep(path: Path, worlds: Worlds) -> None:
    """Save what changed, about once a second, until cancelled; then once more."""
    saved: object = None
    try:
        while True:
            await SystemClock().sleep(_EVERY)
            if (version := worlds.version) != saved:
                saved = version
                save(path, worlds)
    finally:
        save(path, worlds)
