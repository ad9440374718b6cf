"""Since when and why an account cannot be reached; and no mirroring of groups whose platform cannot do it."""

from tidegate.database.migrations.steps import run

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    run(
        """
ALTER TABLE accounts
    ADD COLUMN unreachable_since timestamptz,
    ADD COLUMN unreachable_why text,
    ADD CONSTRAINT accounts_unreachable CHECK ((unreachable_since IS NULL) = (unreachable_why IS NULL));

UPDATE channels SET enabled = false WHERE enabled AND platform = 'whatsapp';
"""
    )
