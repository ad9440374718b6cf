"""Channels listed reader by reader among very many."""

from tidegate.database.migrations.steps import run

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    run("CREATE INDEX channels_by_reader ON channels (coalesce(reader, 0), id);")
