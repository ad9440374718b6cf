"""Tokens for the HTTP API."""

from tidegate.database.migrations.steps import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run(
        """
-- Of a token only the hash is kept. Without channels it may read all of them.
CREATE TABLE tokens (
    name      text PRIMARY KEY,
    hash      bytea NOT NULL UNIQUE,
    scopes    text[] NOT NULL,
    channels  bigint[],
    made_at   timestamptz NOT NULL DEFAULT clock_now(),
    used_at   timestamptz
);
"""
    )
