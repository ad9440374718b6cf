"""Why an account was stopped, for the person who must resolve it."""

from tidegate.database.migrations.steps import run

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    run(
        """
-- What the platform, or Tidegate itself, said when it stopped the account; null when a person did, or nobody.
ALTER TABLE accounts ADD COLUMN state_why text;
"""
    )
