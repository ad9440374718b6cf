"""The identity of each account on its platform: it stays the same, and no two accounts share one."""

from tidegate.database.migrations.steps import run

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
