"""What keeps archives waiting that is no fault of theirs: a full disk, a closed destination, refused copies."""

from tidegate.database.migrations.steps import run

revision = "0026"
down_revision = "0024"


def upgrade() -> None:
    run(
        """
-- An account's archives that wait for room on the disk of the machine that serves it.
CREATE TABLE disk_pauses (
    account   bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    machine   text NOT NULL,
    sentence  text NOT NULL,
    needed    bigint NOT NULL,  -- in bytes: what the least of them needs
    since     timestamptz NOT NULL DEFAULT clock_now()
);

-- A destination that takes nothing from an account. While "trying" the next archive finds out whether it does again.
CREATE TABLE closed_destinations (
    account   bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    channel   bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    sentence  text NOT NULL,
    allowed   boolean NOT NULL,  -- whether the account was believed to have the right to post when it was closed
    looks     integer NOT NULL DEFAULT 0,
    look_at   timestamptz NOT NULL,
    trying    boolean NOT NULL DEFAULT false,
    since     timestamptz NOT NULL DEFAULT clock_now(),
    PRIMARY KEY (account, channel)
);

-- When the platform last refused to copy files of the channel.
ALTER TABLE channels ADD COLUMN copy_refused_at timestamptz;

-- A full disk used up the tries of archives that nothing was wrong with.
UPDATE archives a SET state = 'waiting' FROM failures f
WHERE f.archive = a.id AND f.reason = 'disk_full' AND a.state IN ('failed', 'given_up');
DELETE FROM failures WHERE reason = 'disk_full';
"""
    )
