"""Messages that expire or were erased, and names that are only an account's label of a contact."""

from tidegate.database.migrations.steps import run

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    run(
        """
-- Of an erased message only its number, time, topic and thread are left, and no page brings it back.
ALTER TABLE messages ADD COLUMN erased_at timestamptz;

-- Messages that expire, those that are not deleted first. Times are stored as text of one form, so they sort as text.
CREATE INDEX messages_expiring ON messages (deleted_at, (content ->> 'expires_at') COLLATE "C")
    WHERE content ? 'expires_at';

-- Whether the name is not the person's own but the label that an account has for them among its contacts.
ALTER TABLE people ADD COLUMN is_label boolean NOT NULL DEFAULT false;
"""
    )
