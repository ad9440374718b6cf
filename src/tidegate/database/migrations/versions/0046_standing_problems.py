"""Since when an account is in its state and an archive has failed, the last backup, and an account's proxy.

Each is unknown in older rows. The proxy is shown as scheme, host and port; its whole address is among the secrets.
"""

from tidegate.database.migrations.steps import run

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    run(
        """
ALTER TABLE accounts
    ADD COLUMN state_since timestamptz,
    ADD COLUMN proxy text;

-- The default is given apart, so that rows that are there are neither rewritten nor dated.
ALTER TABLE failures ADD COLUMN since timestamptz;
ALTER TABLE failures ALTER COLUMN since SET DEFAULT clock_now();

ALTER TABLE house ADD COLUMN backed_up_at timestamptz;
"""
    )
