"""How often people requested a scan of a channel or topic; a cycle answers only requests made before it began."""

from tidegate.database.migrations.steps import run

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run("ALTER TABLE places ADD COLUMN asks bigint NOT NULL DEFAULT 0;")
