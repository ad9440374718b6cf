"""A vault for tests."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Drawer:
    """A vault that forgets everything with its test, and counts what is written."""

    kept: dict[str, bytes] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)

    async def read(self, name: str) -> bytes | None:
        return self.kept.get(name)

    async def write(self, name: str, secret: bytes) -> None:
        self.kept[name] = secret
        self.writes.append(name)
