"""An index for the threads that a channel's messages refer to, looked up by channel."""

from tidegate.database.migrations.steps import run

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run(
        """
DROP INDEX messages_thread;
CREATE INDEX messages_thread ON messages (channel, thread) WHERE thread IS NOT NULL;
"""
    )
