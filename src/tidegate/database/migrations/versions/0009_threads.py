"""Threads: when a channel's archived ones were last listed, and which messages started one."""

from tidegate.database.migrations.steps import run

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run(
        """
ALTER TABLE channels ADD COLUMN archives_listed_at timestamptz, ADD COLUMN private_archives_listed_at timestamptz;
CREATE INDEX messages_thread ON messages (thread) WHERE thread IS NOT NULL;
"""
    )
