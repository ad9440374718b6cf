"""Indexes of the topics that must be read; updates of all other topics do not touch them."""

from tidegate.database.migrations.steps import run

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    run(
        """
-- A cycle may look at each of a million topics and find nothing. Such a row stays in its page and in its index entries
-- (a HOT update) when the page has room for its next version and no column of an index or its condition is another. So
-- the indexes stand on columns that only change when the answer does: whether a place was never scanned, when a topic
-- that is long empty was last scanned, and when a channel was. A topic that found something is never left out as fresh.
DROP INDEX places_new;
DROP INDEX places_last_scan;
DROP INDEX places_scanned;
ALTER TABLE places SET (fillfactor = 50);
ALTER TABLE places
    ADD COLUMN never_scanned boolean NOT NULL GENERATED ALWAYS AS (last_scanned_at IS NULL) STORED,
    ADD COLUMN idle_scanned_at timestamptz GENERATED ALWAYS AS (
        CASE WHEN consecutive_empty_scans < 5 THEN NULL
             WHEN last_scan_found_archives THEN '-infinity'
             ELSE last_scanned_at END
    ) STORED,
    ADD COLUMN channel_scanned_at timestamptz GENERATED ALWAYS AS (
        CASE WHEN topic = 0 THEN coalesce(last_scanned_at, '-infinity') END
    ) STORED;
CREATE INDEX places_wanted ON places (channel) WHERE (never_scanned OR asked) AND (topic = 0 OR selected);
CREATE INDEX places_last_scan ON places (channel_scanned_at, channel) WHERE topic = 0;
CREATE INDEX places_idle ON places (channel, idle_scanned_at) WHERE idle_scanned_at IS NOT NULL;
"""
    )
