"""The largest file each channel accepts, where its platform reports it."""

from tidegate.database.migrations.steps import run

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    run(
        """
-- In bytes. Boosted servers of Discord's take more than others; unknown until the account is told of them again.
ALTER TABLE channels ADD COLUMN largest_file bigint;
"""
    )
