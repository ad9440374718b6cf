"""Mirrored channels by name, by reader with their kind, and those that nobody can read: each from an index alone."""

from tidegate.database.migrations.steps import run

revision = "0058"
down_revision = "0057"


def upgrade() -> None:
    run(
        """
-- With *sought* in it the order is read from the index and not worked out anew for every row.
CREATE INDEX channels_mirrored ON channels (natural_order(sought), id) INCLUDE (sought, title)
    WHERE enabled AND private_to IS NULL;
DROP INDEX channels_reader;
CREATE INDEX channels_reader ON channels (reader) INCLUDE (kind) WHERE enabled;
CREATE INDEX channels_unreadable ON channels (id) WHERE enabled AND (state = 'unreadable' OR reader IS NULL);
"""
    )
