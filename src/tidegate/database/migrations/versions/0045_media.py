"""The files of messages kept by their content: which are wanted, which are kept, and the policy that decides."""

from tidegate.database.migrations.steps import run

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    run(
        """
-- Where in its message a file is. Only the message's own files are parts of archives and found by has:.
ALTER TABLE attachments ADD COLUMN role text NOT NULL DEFAULT 'own';
CREATE INDEX attachments_file ON attachments (file);

-- Archives of a channel with this mark are kept with their bytes, also where only archives are mirrored.
ALTER TABLE channels ADD COLUMN keeps_archives boolean NOT NULL DEFAULT false;

-- Bytes in the store, by their SHA-256. A row is written after its bytes. missing_at: found to be lost.
CREATE TABLE media_blobs (
    sha256     bytea       PRIMARY KEY CHECK (octet_length(sha256) = 32),
    size       bigint      NOT NULL CHECK (size >= 0),
    type       text        NOT NULL,
    kept_at    timestamptz NOT NULL DEFAULT clock_now(),
    missing_at timestamptz
);

-- One row per file of a platform, whatever number of messages show it: the same id has the same bytes. A derived id,
-- of a file that has none, is negative. channel and message say where it is fetched from. part is what is wanted of it.
-- expected is the announced size of that part, 0 where nobody says. The handle belongs to one account.
CREATE TABLE media_files (
    platform     text        NOT NULL,
    file         bigint      NOT NULL,
    kind         text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('wanted', 'kept', 'skipped', 'failed', 'gone')),
    reason       text        NOT NULL DEFAULT '',
    part         text        NOT NULL DEFAULT 'whole' CHECK (part IN ('whole', 'thumbnail')),
    channel      bigint      REFERENCES channels ON DELETE SET NULL,
    message      bigint,
    size         bigint      NOT NULL DEFAULT 0,
    expected     bigint      NOT NULL DEFAULT 0,
    attempts     integer     NOT NULL DEFAULT 0,
    next_try_at  timestamptz,
    sha256       bytea       REFERENCES media_blobs,
    type         text        NOT NULL DEFAULT '',
    thumbnail    bytea       REFERENCES media_blobs,
    handle       text,
    handle_of    bigint      REFERENCES accounts ON DELETE SET NULL,
    handle_until timestamptz,
    changed_at   timestamptz NOT NULL DEFAULT clock_now(),
    PRIMARY KEY (platform, file),
    CHECK (state <> 'kept' OR sha256 IS NOT NULL)
);
CREATE INDEX media_files_due ON media_files (channel, message)
    WHERE state = 'wanted' OR (state = 'failed' AND next_try_at IS NOT NULL);
CREATE INDEX media_files_handle ON media_files (handle_of) WHERE handle_of IS NOT NULL;
CREATE INDEX media_files_channel ON media_files (channel, message);
CREATE INDEX media_files_sha256 ON media_files (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX media_files_thumbnail ON media_files (thumbnail) WHERE thumbnail IS NOT NULL;

-- Content that is never kept again.
CREATE TABLE media_blocks (
    sha256     bytea       PRIMARY KEY,
    blocked_at timestamptz NOT NULL DEFAULT clock_now()
);

-- Sums, so that pages and limits need no scan. A file counts for the channel that it is fetched from.
CREATE TABLE media_totals (
    channel bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    kind    text   NOT NULL,
    state   text   NOT NULL,
    files   bigint NOT NULL,
    bytes   bigint NOT NULL,
    PRIMARY KEY (channel, kind, state)
);
CREATE FUNCTION count_media_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO media_totals AS t (channel, kind, state, files, bytes)
        SELECT channel, kind, state, count(*), sum(size) FROM after_rows WHERE channel IS NOT NULL
        GROUP BY channel, kind, state ORDER BY channel, kind, state
        ON CONFLICT (channel, kind, state) DO UPDATE
        SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes;
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO media_totals AS t (channel, kind, state, files, bytes)
        SELECT channel, kind, state, sum(files), sum(bytes)
        FROM (SELECT channel, kind, state, 1 AS files, size AS bytes FROM after_rows
              UNION ALL SELECT channel, kind, state, -1, -size FROM before_rows) AS changed
        WHERE channel IS NOT NULL AND EXISTS (SELECT FROM channels c WHERE c.id = changed.channel)
        GROUP BY channel, kind, state HAVING sum(files) <> 0 OR sum(bytes) <> 0 ORDER BY channel, kind, state
        ON CONFLICT (channel, kind, state) DO UPDATE
        SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes;
    ELSE
        UPDATE media_totals t SET files = t.files - o.files, bytes = t.bytes - o.bytes
        FROM (SELECT channel, kind, state, count(*) AS files, sum(size) AS bytes FROM before_rows
              GROUP BY channel, kind, state) AS o
        WHERE t.channel = o.channel AND t.kind = o.kind AND t.state = o.state;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER media_files_added AFTER INSERT ON media_files REFERENCING NEW TABLE AS after_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_media_files();
CREATE TRIGGER media_files_changed AFTER UPDATE ON media_files
    REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_media_files();
CREATE TRIGGER media_files_removed AFTER DELETE ON media_files REFERENCING OLD TABLE AS before_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_media_files();

-- What the store holds in all, in 256 rows, so that workers do not wait for each other at one.
CREATE TABLE media_stored (
    shard smallint PRIMARY KEY,
    files bigint   NOT NULL,
    bytes bigint   NOT NULL
);
INSERT INTO media_stored SELECT n, 0, 0 FROM generate_series(0, 255) AS n;
CREATE FUNCTION count_media_blob() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE media_stored SET files = files + 1, bytes = bytes + NEW.size WHERE shard = get_byte(NEW.sha256, 0);
    ELSE
        UPDATE media_stored SET files = files - 1, bytes = bytes - OLD.size WHERE shard = get_byte(OLD.sha256, 0);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER media_blobs_counted AFTER INSERT OR DELETE ON media_blobs
    FOR EACH ROW EXECUTE FUNCTION count_media_blob();

-- The operator's rules; the narrowest that says something decides. Without an account or a channel a rule is for all,
-- without a kind for every kind. A null says nothing.
CREATE TABLE media_rules (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account     bigint REFERENCES accounts ON DELETE CASCADE,
    channel     bigint REFERENCES channels ON DELETE CASCADE,
    kind        text,
    action      text CHECK (action IN ('keep', 'thumbnail', 'no')),
    largest     bigint CHECK (largest >= 0),
    beyond      text CHECK (beyond IN ('thumbnail', 'no')),
    whole_limit bigint CHECK (whole_limit >= 0),
    CHECK (account IS NULL OR channel IS NULL)
);
CREATE UNIQUE INDEX media_rules_place ON media_rules (coalesce(account, 0), coalesce(channel, 0), coalesce(kind, ''));

-- Files of a new installation are kept. Where messages are stored already, media are off until the operator says so.
-- Without a total limit it is chosen by the disk. Every change of policy raises the revision.
CREATE TABLE media_state (
    one            boolean PRIMARY KEY DEFAULT true CHECK (one),
    enabled        boolean NOT NULL,
    asks           boolean NOT NULL,
    total_limit    bigint CHECK (total_limit >= 0),
    keep_protected boolean NOT NULL DEFAULT false,
    revision       bigint  NOT NULL DEFAULT 1
);
INSERT INTO media_state (enabled, asks)
SELECT NOT stored, stored FROM (SELECT EXISTS (SELECT FROM messages) AS stored) AS s;

-- How far the stored files of a channel have been decided about, from the newest message down, under which revision.
CREATE TABLE media_plans (
    channel  bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    revision bigint NOT NULL,
    below    bigint
);

-- What keeps all files of an account waiting, as disk_pauses does for archives.
CREATE TABLE media_pauses (
    account  bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    machine  text NOT NULL,
    sentence text NOT NULL,
    needed   bigint NOT NULL DEFAULT 0,
    since    timestamptz NOT NULL DEFAULT clock_now()
);
"""
    )
