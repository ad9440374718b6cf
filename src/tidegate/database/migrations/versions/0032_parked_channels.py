"""Channels parked until a wait of their platform is over, and waits that survive a clock that is set back."""

from tidegate.database.migrations.steps import run

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    run(
        """
-- When the wait was asked for, by the same clock as its end: where that lies ahead, the clock was set back since.
ALTER TABLE waits ADD COLUMN asked_at timestamptz;
ALTER TABLE channels ADD COLUMN parked_until timestamptz;
"""
    )
