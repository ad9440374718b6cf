"""When a message was changed in secret, so that an older version never replaces that."""

from tidegate.database.migrations.steps import run

revision = "0061"
down_revision = "0060"


def upgrade() -> None:
    run(
        """
-- The platform's time of a change that it does not show as an edit, and when an answer with it was requested or came.
ALTER TABLE messages
    ADD COLUMN hidden_edit_at timestamptz,
    ADD COLUMN hidden_seen_at timestamptz;
"""
    )
