"""Kept files by their size, to tell which are larger than a limit of today."""

from tidegate.database.migrations.steps import run

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    run("CREATE INDEX media_files_size ON media_files (channel, kind, size) WHERE state = 'kept'")
