"""Several counters per channel: the message counts that platforms report, each compared with the rows separately."""

from tidegate.database.migrations.steps import run

revision = "0038"
down_revision = "0036"


def upgrade() -> None:
    run(
        """
-- How many messages a platform counted above one and up to another, and when. Whether that is still to be compared with
-- the rows, how often the platform was asked again for it, the difference that was left after all asking, how often
-- that happened, and until when nobody asks. Without a number it is still to be asked for.
CREATE TABLE message_counts (
    channel   bigint      NOT NULL REFERENCES channels ON DELETE CASCADE,
    topic     bigint      NOT NULL,
    counter   text        NOT NULL CHECK (counter IN ('messages', 'posted', 'documents')),
    told      bigint,
    above     bigint      NOT NULL DEFAULT 0,
    upto      bigint,
    told_at   timestamptz NOT NULL DEFAULT clock_now(),
    due       boolean     NOT NULL DEFAULT true,
    asked     smallint    NOT NULL DEFAULT 0,
    usual     bigint,
    misses    smallint    NOT NULL DEFAULT 0,
    ask_after timestamptz,
    PRIMARY KEY (channel, topic, counter)
);
CREATE INDEX message_counts_due ON message_counts (channel) WHERE due;

INSERT INTO message_counts (channel, topic, counter, told, upto, due, asked, usual)
SELECT id, 0, 'messages', counted_messages, told_upto, recount, recounts, count_offset
FROM channels WHERE counted_messages IS NOT NULL;

ALTER TABLE channels
    DROP COLUMN counted_messages,
    DROP COLUMN told_upto,
    DROP COLUMN recount,
    DROP COLUMN recounts,
    DROP COLUMN count_offset;
"""
    )
