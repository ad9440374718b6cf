"""Signing in to the pages: one password, one-time links, sessions, and tries that failed."""

from tidegate.database.migrations.steps import run

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run(
        """
-- The operator's password, as argon2 keeps it. There is one, or none yet.
CREATE TABLE passwords (
    single  boolean PRIMARY KEY DEFAULT true CHECK (single),
    hash    text NOT NULL,
    set_at  timestamptz NOT NULL DEFAULT clock_now()
);

-- Of links and sessions only hashes are kept; both are 256 random bits.
CREATE TABLE sign_in_links (
    hash     bytea PRIMARY KEY,
    until    timestamptz NOT NULL
);
CREATE TABLE sessions (
    hash      bytea PRIMARY KEY,
    began_at  timestamptz NOT NULL DEFAULT clock_now(),
    until     timestamptz NOT NULL
);
CREATE INDEX sessions_until ON sessions (until);

-- Each try is written down before the password is looked at, and forgotten when it was right.
CREATE TABLE sign_in_tries (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client  text NOT NULL,
    at      timestamptz NOT NULL DEFAULT clock_now()
);
CREATE INDEX sign_in_tries_at ON sign_in_tries (at);
"""
    )
