"""Channels listed in the order in which people expect names: "Customers 2" before "Customers 10"."""

from tidegate.database.migrations.steps import run

revision = "0054"
down_revision = "0052"


def upgrade() -> None:
    run(
        """
-- Every number gets leading zeros up to 20 digits, so that texts compare as their numbers do.
CREATE FUNCTION natural_order(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(regexp_replace(
        regexp_replace(name, '([0-9]+)', '0000000000000000000\\1', 'g'), '0*([0-9]{20,})', '\\1', 'g'), 250)
$$;

-- What listings filter by lies in the index they walk along, as in step 0019.
DROP INDEX channels_sought;
DROP INDEX channels_by_reader;
CREATE INDEX channels_in_order ON channels (natural_order(sought), id)
    INCLUDE (sought, number, enabled, platform, reader, state);
CREATE INDEX channels_by_reader ON channels (coalesce(reader, 0), id)
    INCLUDE (reader, sought, number, enabled, platform, state);

-- Threads of a channel, by name.
CREATE INDEX channels_threads ON channels (platform, parent, natural_order(sought), id) WHERE parent IS NOT NULL;
"""
    )
