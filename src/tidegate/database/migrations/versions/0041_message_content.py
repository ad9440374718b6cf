"""Every field of a message, what its platform sent, and the people and channels with their earlier names."""

from tidegate.database.migrations.steps import run

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    run(
        """
-- A message without a kind was stored before these columns: its fields are partial until it is read again. Numbers
-- that change without an edit are as of counted_at. Of raw, history/raw_json.py knows the form; it takes the
-- place of extra, which only older rows have.
ALTER TABLE messages
    ADD COLUMN kind       text NOT NULL DEFAULT '',
    ADD COLUMN content    jsonb,
    ADD COLUMN counts     jsonb,
    ADD COLUMN counted_at timestamptz,
    ADD COLUMN raw        bytea;
CREATE INDEX messages_partial ON messages (channel, id) WHERE kind = '' AND deleted_at IS NULL;

ALTER TABLE attachments ADD COLUMN form text NOT NULL DEFAULT '';

-- Authors as their platform shows them now, and every name they were seen with.
CREATE TABLE people (
    platform  text   NOT NULL,
    id        bigint NOT NULL,
    name      text   NOT NULL,
    usernames text[] NOT NULL DEFAULT '{}',
    kind      text   NOT NULL,
    seen_at   timestamptz NOT NULL DEFAULT clock_now(),
    PRIMARY KEY (platform, id)
);
CREATE TABLE person_names (
    platform   text        NOT NULL,
    person     bigint      NOT NULL,
    name       text        NOT NULL,
    usernames  text[]      NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL,
    PRIMARY KEY (platform, person, name, usernames),
    FOREIGN KEY (platform, person) REFERENCES people (platform, id) ON DELETE CASCADE
);

-- The same of channels. A description is empty until the platform was asked for it.
ALTER TABLE channels ADD COLUMN description text NOT NULL DEFAULT '';
CREATE TABLE channel_names (
    channel     bigint      NOT NULL REFERENCES channels ON DELETE CASCADE,
    title       text        NOT NULL,
    description text        NOT NULL,
    last_seen   timestamptz NOT NULL DEFAULT clock_now()
);
CREATE INDEX channel_names_of ON channel_names (channel, last_seen);
CREATE FUNCTION keep_channel_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO channel_names (channel, title, description) VALUES (OLD.id, OLD.title, OLD.description);
    RETURN NULL;
END $$;
CREATE TRIGGER channels_renamed AFTER UPDATE OF title, description ON channels
    FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.description <> '' AND
                       OLD.description IS DISTINCT FROM NEW.description)
    EXECUTE FUNCTION keep_channel_name();
"""
    )
