"""Rounds remember a platform's counter of changes: where it was followed since, no page has to be compared again."""

from tidegate.database.migrations.steps import run

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    run(
        """
-- The counter of changes when the last whole comparison began; NULL where there was none, or not all of it was read.
ALTER TABLE history_rounds ADD COLUMN counter bigint;
"""
    )
