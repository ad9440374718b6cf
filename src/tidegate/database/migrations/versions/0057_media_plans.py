"""Files of a channel are decided about again when what the policy goes by changes."""

from tidegate.database.migrations.steps import run

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    run(
        """
CREATE FUNCTION forget_media_plan() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM media_plans WHERE channel = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER channels_replan_media AFTER UPDATE OF in_full, keeps_archives, protected, reader ON channels
    FOR EACH ROW
    WHEN ((OLD.in_full, OLD.keeps_archives, OLD.protected, OLD.reader)
        IS DISTINCT FROM (NEW.in_full, NEW.keeps_archives, NEW.protected, NEW.reader))
    EXECUTE FUNCTION forget_media_plan();
"""
    )
