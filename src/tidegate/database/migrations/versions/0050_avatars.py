"""Avatars: which picture a person, a channel or a server has and had."""

from tidegate.database.migrations.steps import run

revision = "0050"
down_revision = "0047"


def upgrade() -> None:
    run(
        """
-- The owner is the platform's number of a person, and of a channel or a server among people's numbers. The newest
-- shown_at is the picture that the owner has. channel and message say where it was seen, and message is 0 for the
-- picture of the channel itself. The handle belongs to no account and does not expire.
CREATE TABLE avatars (
    platform text        NOT NULL,
    owner    bigint      NOT NULL,
    file     bigint      NOT NULL,
    channel  bigint      NOT NULL REFERENCES channels ON DELETE CASCADE,
    message  bigint      NOT NULL,
    handle   text        NOT NULL,
    shown_at timestamptz NOT NULL DEFAULT clock_now(),
    PRIMARY KEY (platform, owner, file)
);
CREATE INDEX avatars_file ON avatars (platform, file);
CREATE INDEX avatars_channel ON avatars (channel, owner);

-- Whose picture a channel shows, which may be its server's, and the file of it.
ALTER TABLE channels ADD COLUMN avatar_of bigint, ADD COLUMN avatar bigint;
"""
    )
