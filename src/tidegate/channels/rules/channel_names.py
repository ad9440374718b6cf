"""A channel's name with the place it is in, as every page and sentence writes it."""

from __future__ import annotations

from typing import Protocol


class HasPlace(Protocol):
    """Something that knows a channel's server and, for a thread, the channel above it; empty where there is none."""

    @property
    def server(self) -> str: ...

    @property
    def parent_title(self) -> str: ...


def full_name(title: str, at: HasPlace | None) -> str:
    """A channel's title after its server and, for a thread, the channel above it."""
    return title if at is None else " \u203a ".join(part for part in (at.server, at.parent_title, title) if part)
