"""Thumbnails that Tidegate makes itself: why some bytes have none, and which pictures wait for theirs."""

from tidegate.database.migrations.steps import run

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    run(
        """
-- Why no thumbnail can be made of these bytes. It depends on nothing but the bytes, so it is not tried again.
ALTER TABLE media_blobs ADD COLUMN no_thumbnail text;
CREATE INDEX media_files_without_thumbnail ON media_files (sha256)
    WHERE state = 'kept' AND thumbnail IS NULL
      AND type IN ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif');
"""
    )
