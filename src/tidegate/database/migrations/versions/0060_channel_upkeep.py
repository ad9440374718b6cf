"""Whether channels are up to date, from indexes alone, and the archives of a channel or an account, newest first."""

from tidegate.database.migrations.steps import run

revision = "0060"
down_revision = "0059"


def upgrade() -> None:
    run(
        """
DROP INDEX channels_reader;
CREATE INDEX channels_reader ON channels (reader) INCLUDE (kind, state) WHERE enabled;
CREATE INDEX channels_moved ON channels (id) WHERE moved_to IS NOT NULL;

-- Also says whether a channel has any archive.
CREATE INDEX archives_of_channel ON archives (channel, id);
"""
    )
