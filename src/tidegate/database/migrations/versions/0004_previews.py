"""Preview pictures of archives."""

from tidegate.database.migrations.steps import run

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run(
        """
-- Whether a photo is still to be looked for; once there is an answer, none of the archive's rows is looked at again.
ALTER TABLE archives ADD COLUMN preview_due boolean NOT NULL DEFAULT true;
CREATE INDEX archives_preview_due ON archives (channel, id) WHERE preview_due;

-- Each picture once, however many archives show it. It goes when the last of them is gone.
CREATE TABLE pictures (
    hash     bytea PRIMARY KEY,
    mime     text NOT NULL,
    content  bytea NOT NULL,
    kept_at  timestamptz NOT NULL DEFAULT clock_now()
);
ALTER TABLE pictures ALTER COLUMN content SET STORAGE EXTERNAL;  -- pictures are packed already

-- The photo of an archive. Without a picture it could not be fetched, and *trouble* is the sentence that says why.
CREATE TABLE previews (
    archive  bigint PRIMARY KEY REFERENCES archives ON DELETE CASCADE,
    message  bigint,
    picture  bytea REFERENCES pictures,
    tries    integer NOT NULL DEFAULT 0,
    trouble  text NOT NULL DEFAULT ''
);
CREATE INDEX previews_picture ON previews (picture);
"""
    )
