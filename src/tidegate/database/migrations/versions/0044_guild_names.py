"""What Discord servers (guilds) are called, and indexes that count messages and find who wrote in a channel."""

from tidegate.database.migrations.steps import run

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    run(
        """
-- A guild is named by the platform's number, as in channels.
CREATE TABLE guilds (
    platform text   NOT NULL,
    number   bigint NOT NULL,
    title    text   NOT NULL,
    PRIMARY KEY (platform, number)
);

-- Together with the key, the first counts the messages of a channel that are not deleted without reading them.
CREATE INDEX messages_deleted ON messages (channel, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX messages_author ON messages (channel, author_id) WHERE author_id IS NOT NULL;
"""
    )
