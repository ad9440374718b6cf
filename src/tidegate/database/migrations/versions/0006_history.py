"""Histories: what kind of channel it is, how deep it is mirrored, and when it was last compared with the platform."""

from tidegate.database.migrations.steps import run

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run(
        """
-- Guild and parent are the platform's numbers. The depth counts what pages of the history brought, deleted ones too,
-- so that a deletion does not make a history shallower. A remark is what the operator should know of the channel.
ALTER TABLE channels
    ADD COLUMN kind         text NOT NULL DEFAULT 'channel',
    ADD COLUMN guild        bigint,
    ADD COLUMN parent       bigint,
    ADD COLUMN archived     boolean NOT NULL DEFAULT false,
    ADD COLUMN private      boolean NOT NULL DEFAULT false,
    ADD COLUMN to_start     boolean NOT NULL DEFAULT true,
    ADD COLUMN depth        bigint NOT NULL DEFAULT 0,
    ADD COLUMN verified_at  timestamptz,
    ADD COLUMN remark       text NOT NULL DEFAULT '';
UPDATE channels c SET depth = (SELECT count(*) FROM messages m WHERE m.channel = c.id) WHERE c.in_full;
"""
    )
