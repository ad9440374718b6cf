"""How often people asked for a place: a cycle answers the asks it knew of, and none that came while it ran."""

from tidegate.store.schema.steps import run

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run("ALTER TABLE places ADD COLUMN asks bigint NOT NULL DEFAULT 0;")
