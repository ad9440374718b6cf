"""Platforms' counts compared with what is stored: changes that were not read, and message counts that disagree."""

from tidegate.database.migrations.steps import run

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    run(
        """
-- From and up to which value of the counter; below which message the stored ones are still to be compared.
ALTER TABLE places
    ADD COLUMN unread_since bigint,
    ADD COLUMN unread_upto  bigint,
    ADD COLUMN unread_below bigint;

-- How many messages the platform counted up to which one; whether that is still to be compared with the rows, how often
-- the platform was asked again, and by how much the two differ for good.
ALTER TABLE channels
    ADD COLUMN counted_messages bigint,
    ADD COLUMN told_upto     bigint,
    ADD COLUMN recount       boolean NOT NULL DEFAULT false,
    ADD COLUMN recounts      smallint NOT NULL DEFAULT 0,
    ADD COLUMN count_offset  bigint NOT NULL DEFAULT 0;
CREATE INDEX channels_recount ON channels (reader) WHERE recount;
"""
    )
