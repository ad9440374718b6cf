"""Room in the limits of media that files in flight hold, for all workers to see."""

from tidegate.database.migrations.steps import run

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    run(
        """
-- Bytes that an account fetches just now and that have no row yet. They count for the total limit.
CREATE TABLE media_room (
    account bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    bytes   bigint NOT NULL
);

-- An account that is released or taken over holds no room.
CREATE FUNCTION forget_media_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM media_room WHERE account = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER accounts_leave_media_room AFTER UPDATE OF owner, epoch ON accounts
    FOR EACH ROW WHEN (NEW.owner IS NULL OR NEW.epoch <> OLD.epoch)
    EXECUTE FUNCTION forget_media_room();
"""
    )
