"""The schema as numbered steps, written in SQL."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
STEPS = frozenset(step.name.split("_")[0] for step in (FOLDER / "versions").glob("[0-9]*.py"))
"""Every step this code knows."""

HEAD = max(STEPS)
"""The newest of them."""
