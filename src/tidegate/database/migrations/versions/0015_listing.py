"""Channels listed and found by title among very many, and what was read of one."""

from tidegate.database.migrations.steps import run

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    run(
        """
-- What a channel is sorted and looked for by: the beginning of its title, because a whole one may not fit an index.
ALTER TABLE channels ADD COLUMN sought text COLLATE "C" GENERATED ALWAYS AS (left(lower(title), 200)) STORED;
CREATE INDEX channels_sought ON channels (sought, id);
CREATE INDEX channels_number ON channels (number);
CREATE INDEX channels_title ON channels USING hash (title);

CREATE INDEX places_last_scan ON places (coalesce(last_scanned_at, '-infinity'), channel) WHERE topic = 0;

-- The history of one channel within the feed.
CREATE INDEX events_of_channel ON events ((data ->> 'channel'), tx, id)
    WHERE kind IN ('channel.read', 'backfill.ended', 'reconcile.ended');
"""
    )
