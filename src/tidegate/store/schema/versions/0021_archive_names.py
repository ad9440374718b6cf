"""Archives found by any part of their names, and listed by their state, among a million without a walk over all.

PostgreSQL's own extension for this is missing in some builds, the embedded one among them, so the pieces of three
characters that a name is made of are indexed as what they are: an array.
"""

from tidegate.store.schema.steps import run

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
