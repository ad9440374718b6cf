"""Archives found by any part of their names, and listed by their state, without a scan over all, even among a million.

PostgreSQL's own extension for this (pg_trgm) is missing in some builds, such as the embedded one. So the pieces of
three characters that a name consists of are indexed as an array.
"""

from tidegate.database.migrations.steps import run

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    run(
        """
CREATE FUNCTION pieces_of(name text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ARRAY(SELECT DISTINCT substr(lower(name), n, 3) FROM generate_series(1, length(lower(name)) - 2) AS n)
$$;
CREATE INDEX archives_pieces ON archives USING gin (pieces_of(name)) WITH (gin_pending_list_limit = 512);
CREATE INDEX archives_by_state ON archives (state, id);
"""
    )
