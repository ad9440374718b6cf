"""Events of a filing scene."""

from __future__ import annotations

from typing import Any

from tests.archives.filing_scene import Scene


async def told(scene: Scene, *kinds: str) -> list[tuple[str, dict[str, Any]]]:
    rows = await scene.mirror.rows("SELECT kind, data FROM events WHERE kind = ANY($1) ORDER BY id", list(kinds))
    return [(row["kind"], row["data"]) for row in rows]
