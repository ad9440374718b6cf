"""Archives reach their destination: content hashes, and one row for each message to be posted."""

from tidegate.database.migrations.steps import run

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run(
        """
-- The content is what tells two sets apart: the digest of the only part, or one over the digests of all of them.
ALTER TABLE archives
    ADD COLUMN content bytea,
    ADD COLUMN duplicate_of bigint REFERENCES archives ON DELETE SET NULL,
    ADD COLUMN filed_at timestamptz;
CREATE INDEX archives_content ON archives (content) WHERE content IS NOT NULL;
CREATE INDEX archives_duplicate_of ON archives (duplicate_of) WHERE duplicate_of IS NOT NULL;
ALTER TABLE archive_parts
    ADD COLUMN sha256 bytea,
    ADD COLUMN protected boolean NOT NULL DEFAULT false;
CREATE INDEX archive_parts_sha256 ON archive_parts (sha256) WHERE sha256 IS NOT NULL;

-- A set's manifest in a destination, frozen before the first send. The key is what the platform knows a repeated send
-- by; saved are the parts of the upload that the platform has acknowledged. Both mean something to one account only.
CREATE TABLE deliveries (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    archive          bigint NOT NULL REFERENCES archives ON DELETE CASCADE,
    destination      bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    number           integer NOT NULL,
    source_message   bigint NOT NULL,
    source_file      bigint NOT NULL,
    name             text NOT NULL,
    first_byte       bigint NOT NULL,
    size             bigint NOT NULL,
    way              text NOT NULL CHECK (way IN ('copy', 'upload')),
    key              text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text,
    account          bigint,
    upload           bigint,
    upload_began_at  timestamptz,
    saved            int4multirange NOT NULL DEFAULT '{}',
    state            text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sending', 'sent')),
    message          bigint,
    sent_at          timestamptz,
    UNIQUE (archive, destination, number)
);
CREATE INDEX deliveries_destination ON deliveries (destination, message);
"""
    )
