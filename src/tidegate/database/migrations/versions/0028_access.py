"""Tokens that expire or wait for confirmation, addresses people signed in from, and the server the data lives on."""

from tidegate.database.migrations.steps import run

revision = "0028"
down_revision = "0026"


def upgrade() -> None:
    run(
        """
-- A token that came out of a copy of the database opens nothing until the operator confirms it.
ALTER TABLE tokens
    ADD COLUMN expires_at         timestamptz,
    ADD COLUMN unconfirmed_since  timestamptz;

-- Addresses from which somebody signed in: strangers who guess passwords elsewhere do not lock these out.
CREATE TABLE sign_in_clients (
    client     text PRIMARY KEY,
    signed_at  timestamptz NOT NULL DEFAULT clock_now()
);
CREATE INDEX sign_in_clients_signed_at ON sign_in_clients (signed_at);

-- The server and database that this data was last used in; in any other it is a copy. Null until the first start.
ALTER TABLE house ADD COLUMN lineage text;
"""
    )
