"""Channels sorted and filtered among very many without reading the channels that do not fit."""

from tidegate.database.migrations.steps import run

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    run(
        """
-- What listings filter by lies in the index they walk along: 100,000 entries in a row, not as many rows here and there.
DROP INDEX channels_sought;
DROP INDEX channels_by_reader;
CREATE INDEX channels_sought ON channels (sought, id) INCLUDE (number, enabled);
CREATE INDEX channels_by_reader ON channels (coalesce(reader, 0), id) INCLUDE (reader, sought, number, enabled);
"""
    )
