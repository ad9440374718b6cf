"""Secrets of Tidegate itself, which belong to no account."""

from tidegate.database.migrations.steps import run

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    run(
        """
-- Sealed like those of accounts. The first: the password of the role that WhatsApp's library signs in here with.
CREATE TABLE house_secrets (
    name    text PRIMARY KEY,
    key_id  text NOT NULL,
    sealed  bytea NOT NULL
);
"""
    )
