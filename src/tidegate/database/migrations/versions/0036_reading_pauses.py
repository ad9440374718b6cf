"""Archives that wait because the machine cannot start the process that reads them."""

from tidegate.database.migrations.steps import run

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    run(
        """
-- An account's archives that wait to be read until its machine can start a process again.
CREATE TABLE reading_pauses (
    account   bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    machine   text NOT NULL,
    sentence  text NOT NULL,
    since     timestamptz NOT NULL DEFAULT clock_now()
);
"""
    )
