"""The schema as numbered steps, written in SQL and applied by alembic."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
HEAD = max(step.name.split("_")[0] for step in (FOLDER / "versions").glob("[0-9]*.py"))
"""The newest step this code knows."""
