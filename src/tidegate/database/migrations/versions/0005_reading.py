"""Messages as they were and are: earlier texts, files, reactions, early deletions; words made by the program."""

import asyncpg

from tidegate.database.migrations.steps import run, work
from tidegate.search.rules.tokenizer import author_tags, vector

revision = "0005"
down_revision = "0004"

_BATCH = 5_000


def upgrade() -> None:
    run(
        """
ALTER TABLE messages
    ADD COLUMN author_id  bigint,
    ADD COLUMN automatic  boolean NOT NULL DEFAULT false,
    ADD COLUMN service    text NOT NULL DEFAULT '',
    ADD COLUMN thread     bigint,
    ADD COLUMN reactions  jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN extra      jsonb,
    ADD COLUMN files      bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN words      tsvector NOT NULL DEFAULT '';

-- The files of a message as it is now, in its order; messages.files has their numbers too.
CREATE TABLE attachments (
    channel  bigint NOT NULL,
    message  bigint NOT NULL,
    number   integer NOT NULL,
    file     bigint NOT NULL,
    name     text NOT NULL,
    size     bigint NOT NULL,
    mime     text NOT NULL,
    kind     text NOT NULL,
    PRIMARY KEY (channel, message, number),
    FOREIGN KEY (channel, message) REFERENCES messages ON DELETE CASCADE
);

-- Earlier texts of edited messages, the first one first. Whatever changes a text leaves the old one here.
CREATE TABLE message_revisions (
    channel      bigint NOT NULL,
    message      bigint NOT NULL,
    number       integer NOT NULL,
    text         text NOT NULL,
    written_at   timestamptz NOT NULL,
    replaced_at  timestamptz NOT NULL DEFAULT clock_now(),
    PRIMARY KEY (channel, message, number),
    FOREIGN KEY (channel, message) REFERENCES messages ON DELETE CASCADE
);
CREATE FUNCTION keep_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO message_revisions (channel, message, number, text, written_at)
    SELECT OLD.channel, OLD.id, 1 + count(*), OLD.text, coalesce(OLD.edited_at, OLD.at)
    FROM message_revisions r
    WHERE r.channel = OLD.channel AND r.message = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER messages_revised AFTER UPDATE OF text ON messages
    FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text) EXECUTE FUNCTION keep_revision();

-- Messages that were deleted before they were ever stored: one that comes late is born deleted.
CREATE TABLE early_deletions (
    channel     bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    message     bigint NOT NULL,
    deleted_at  timestamptz NOT NULL DEFAULT clock_now(),
    PRIMARY KEY (channel, message)
);
CREATE INDEX early_deletions_age ON early_deletions (deleted_at);

INSERT INTO attachments (channel, message, number, file, name, size, mime, kind)
SELECT channel, id, 1, file, coalesce(file_name, ''), coalesce(file_size, 0), '', coalesce(file_kind, 'document')
FROM messages WHERE file IS NOT NULL;
UPDATE messages SET files = ARRAY[file] WHERE file IS NOT NULL;

DROP INDEX messages_words;
DROP INDEX archive_contents_words;
DROP FUNCTION words_of;
ALTER TABLE messages DROP COLUMN file, DROP COLUMN file_name, DROP COLUMN file_size, DROP COLUMN file_kind;
ALTER TABLE archive_contents ADD COLUMN words tsvector NOT NULL DEFAULT '';
"""
    )
    work(_make_words)
    run(
        """
-- New entries wait in a list that every search reads through; a short one keeps searches quick.
CREATE INDEX messages_words ON messages USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE INDEX messages_newest ON messages (at, id) WHERE deleted_at IS NULL;
CREATE INDEX archive_contents_words ON archive_contents USING gin (words) WITH (gin_pending_list_limit = 512);
"""
    )


async def _make_words(connection: asyncpg.Connection) -> None:
    """Make rows that are stored already searchable like new ones."""
    at = (0, 0)
    while rows := await connection.fetch(_MESSAGES, *at, _BATCH):
        at = (rows[-1]["channel"], rows[-1]["id"])
        await connection.execute(
            """
            UPDATE messages m SET words = t.words::tsvector
            FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS t (channel, id, words)
            WHERE m.channel = t.channel AND m.id = t.id
            """,
            [row["channel"] for row in rows], [row["id"] for row in rows], [_words_of(row) for row in rows],
        )  # fmt: skip
    at = (0, 0)
    while rows := await connection.fetch(_CONTENTS, *at, _BATCH):
        at = (rows[-1]["archive"], rows[-1]["number"])
        await connection.execute(
            """
            UPDATE archive_contents i SET words = t.words::tsvector
            FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS t (archive, number, words)
            WHERE i.archive = t.archive AND i.number = t.number
            """,
            [row["archive"] for row in rows], [row["number"] for row in rows], [vector([row["path"]]) for row in rows],
        )  # fmt: skip


_MESSAGES = """
    SELECT m.channel, m.id, m.author, m.text,
        ARRAY(SELECT name FROM attachments a WHERE a.channel = m.channel AND a.message = m.id) AS names
    FROM messages m
    WHERE (m.channel, m.id) > ($1, $2)
    ORDER BY m.channel, m.id LIMIT $3
"""
_CONTENTS = """
    SELECT archive, number, path FROM archive_contents
    WHERE (archive, number) > ($1, $2)
    ORDER BY archive, number LIMIT $3
"""


def _words_of(row: asyncpg.Record) -> str:
    tags = author_tags(row["author"], None)
    return vector([row["text"], *row["names"]], [*tags, "has:file"] if row["names"] else tags)
