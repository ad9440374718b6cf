"""Private chats and small groups: the account that owns each, and the counters of the account's message box."""

from tidegate.database.migrations.steps import run

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    run(
        """
-- The account whose chat it is; NULL for channels that several accounts may share. It is not a reference: when the
-- account is removed, the chat must not become one of "all channels". A small group that became a large one names it.
ALTER TABLE channels ADD COLUMN private_to bigint, ADD COLUMN moved_to bigint;
CREATE INDEX channels_private ON channels (private_to) WHERE private_to IS NOT NULL;

-- Chats that were seen before this column; those that are mirrored stay so.
UPDATE channels c
SET private_to = coalesce(c.reader, (SELECT min(account) FROM sights s WHERE s.channel = c.id), 0)
WHERE c.kind = 'private chat';

-- An account's private chats share one message box, with one counter of changes. Up to it, every chat that has a
-- counter in places is complete.
CREATE TABLE account_boxes (
    account bigint      PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    pts     bigint      NOT NULL,
    qts     bigint      NOT NULL,
    date    timestamptz NOT NULL
);
"""
    )
