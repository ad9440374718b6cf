"""Push updates and schedules: when the next cycle is, when topics were listed, what was never scanned."""

from tidegate.database.migrations.steps import run

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run(
        """
-- When whoever serves the account means to make its next cycle.
ALTER TABLE accounts ADD COLUMN next_cycle_at timestamptz;

-- When all topics of a forum were last listed; once a day is enough, because news of topics comes with the messages.
ALTER TABLE channels ADD COLUMN topics_listed_at timestamptz;

-- What was enabled and not scanned yet is looked for every minute, and there is hardly ever any.
CREATE INDEX places_new ON places (channel) WHERE last_scanned_at IS NULL AND (topic = 0 OR selected);
"""
    )
