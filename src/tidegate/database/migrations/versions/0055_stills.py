"""The platform's small picture of a file that is kept whole, and which worker draws a thumbnail just now."""

from tidegate.database.migrations.steps import run

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    run(
        """
-- The platform's small picture of a video or a moving sticker, which is fetched beside the file.
ALTER TABLE media_files ADD COLUMN still text, ADD COLUMN still_size bigint NOT NULL DEFAULT 0;

-- Until then one worker draws the thumbnail of these bytes, and no other begins.
ALTER TABLE media_blobs ADD COLUMN drawing_until timestamptz;
"""
    )
