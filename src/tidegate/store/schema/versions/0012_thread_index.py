"""Which threads a channel's messages speak of is asked channel by channel."""

from tidegate.store.schema.steps import run

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run(
        """
DROP INDEX messages_thread;
CREATE INDEX messages_thread ON messages (channel, thread) WHERE thread IS NOT NULL;
"""
    )
