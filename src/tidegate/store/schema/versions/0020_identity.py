"""Who each account is on its platform, so that nobody else is signed in as it, and nobody twice."""

from tidegate.store.schema.steps import run

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    run(
        """
-- The platform's own number of the person or bot. Two accounts of one would each keep to a pace, and together break it.
-- Unknown for accounts of before, until they are signed in again.
ALTER TABLE accounts ADD COLUMN identity bigint;
CREATE UNIQUE INDEX accounts_identity ON accounts (platform, coalesce(loopback, ''), identity);
"""
    )
