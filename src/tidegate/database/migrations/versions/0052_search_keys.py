"""Search by words within a time, a channel or a topic, and a sample that tells how common words are.

A table with many messages gets its new indexes while it is in use (``search/index_builder.py``), not here.
"""

from tidegate.database.migrations.steps import run

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    run(
        """
-- By what the index of words narrows a search: the message's channel, its day, its 16 days and 256 days since 1970,
-- and its topic. Channels are negative; the three spans of time, and topics, each lie in a range of their own.
CREATE FUNCTION search_keys(channel bigint, topic bigint, at timestamptz) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN ARRAY[
    -channel,
    floor(date_part('epoch', at AT TIME ZONE 'UTC') / 86400)::bigint,
    1000000000 + floor(date_part('epoch', at AT TIME ZONE 'UTC') / 1382400)::bigint,
    2000000000 + floor(date_part('epoch', at AT TIME ZONE 'UTC') / 22118400)::bigint,
    3000000000 + (hashint8extended(coalesce(topic, 0), channel) & 1152921504606846975)
];

DO $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM messages LIMIT 100001) AS counted) <= 100000 THEN
        CREATE INDEX messages_found ON messages USING gin (words, search_keys(channel, topic, at))
            WITH (gin_pending_list_limit = 512);
        CREATE INDEX messages_sampled ON messages USING gin (words, search_keys(channel, topic, at))
            WHERE hashint8(id) & 255 = 0;
        CREATE INDEX messages_sampled_newest ON messages (at) WHERE hashint8(id) & 255 = 0;
        DROP INDEX messages_words;
    END IF;
END $$;
"""
    )
