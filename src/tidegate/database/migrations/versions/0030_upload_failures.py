"""Uploads that fail are remembered per account and file, and a run says what it is held up by.

A run that cannot have its files uploaded waits until *held_until*, or is paused for a person. *cause* is why. Both
columns are added without rewriting the table.
"""

from tidegate.database.migrations.steps import run

revision = "0030"
down_revision = "0028"


def upgrade() -> None:
    run(
        """
-- A file that an account's platform did not take. Removed when the file goes up, and by whoever resumes a run with it.
CREATE TABLE upload_failures (
    account   bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    sha256    bytea NOT NULL REFERENCES media ON DELETE CASCADE,
    kind      text NOT NULL,
    tries     integer NOT NULL,
    cause     text NOT NULL,
    retry_at  timestamptz NOT NULL,
    PRIMARY KEY (account, sha256, kind)
);

ALTER TABLE runs
    ADD COLUMN held_until timestamptz,
    ADD COLUMN cause text NOT NULL DEFAULT '',
    DROP CONSTRAINT runs_paused_by_check,
    ADD CONSTRAINT runs_paused_by_check CHECK (paused_by IN ('person', 'everything', 'restore', 'upload'));
"""
    )
