"""What is inside archives, and words to search it and the messages by."""

from tidegate.database.migrations.steps import run

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run(
        """
-- When the list of contents was read; a set that still has to be delivered keeps waiting after that.
ALTER TABLE archives ADD COLUMN indexed_at timestamptz;

-- The words of a text or a file name: what stands between dots, dashes and the like, in lower case.
CREATE FUNCTION words_of(written text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector('simple'::regconfig, translate(left(written, 50000), '_-./\\:,;()[]{}<>@#+=~''"&|!*',
                                                      '                            '))
$$;

CREATE TABLE archive_contents (
    archive    bigint NOT NULL REFERENCES archives ON DELETE CASCADE,
    number     integer NOT NULL,
    path       text NOT NULL,
    size       bigint NOT NULL,
    encrypted  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (archive, number)
);
CREATE INDEX archive_contents_words ON archive_contents USING gin (words_of(path));
CREATE INDEX messages_words ON messages USING gin (words_of(text || ' ' || coalesce(file_name, '')));
"""
    )
