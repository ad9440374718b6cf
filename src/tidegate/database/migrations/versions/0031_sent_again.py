"""Records for messages that a group may get twice, and for groups left to another reminder.

A message that was sent again, while the outcome of its first try was unknown, stores why. A group that was left to
another account's reminder stores which one, so that it is left to one only.

The columns are added without rewriting the tables.
"""

from tidegate.database.migrations.steps import run

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    run(
        """
ALTER TABLE run_parts ADD COLUMN maybe_twice text NOT NULL DEFAULT '';
ALTER TABLE run_targets ADD COLUMN left_to text NOT NULL DEFAULT '';
"""
    )
