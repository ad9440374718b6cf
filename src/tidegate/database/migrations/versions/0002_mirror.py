"""The mirror: channels, scan memory, messages, coverage, archives, failures, cycles."""

from tidegate.database.migrations.steps import run

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run(
        """
-- A chat that can be mirrored or filed to. Its number is the platform's own; several accounts may see it, one reads it.
CREATE TABLE channels (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    platform     text NOT NULL CHECK (platform IN ('telegram', 'discord', 'whatsapp')),
    number       bigint NOT NULL,
    title        text NOT NULL DEFAULT '',
    forum        boolean NOT NULL DEFAULT false,
    protected    boolean NOT NULL DEFAULT false,
    reader       bigint REFERENCES accounts ON DELETE SET NULL,
    enabled      boolean NOT NULL DEFAULT false,
    in_full      boolean NOT NULL DEFAULT false,
    hashed       boolean NOT NULL DEFAULT false,
    by_topic     boolean NOT NULL DEFAULT false,
    destination  bigint REFERENCES channels ON DELETE SET NULL,
    state        text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'no_history_permission', 'deleted', 'unreadable')),
    first_seen_at timestamptz NOT NULL DEFAULT clock_now(),
    UNIQUE (platform, number)
);
CREATE INDEX channels_reader ON channels (reader) WHERE enabled;

-- Which account sees which channel. What it must show to be let in stays with its sign-in.
CREATE TABLE sights (
    account   bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    channel   bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    may_post  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (account, channel)
);
CREATE INDEX sights_channel ON sights (channel);

-- What is remembered of a channel (topic 0) or of a topic between cycles. A topic that is not followed on its own
-- (selected) is scanned with its channel, and keeps only its title and its newest message.
CREATE TABLE places (
    channel                   bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    topic                     bigint NOT NULL DEFAULT 0,
    title                     text NOT NULL DEFAULT '',
    selected                  boolean NOT NULL DEFAULT false,
    gone_at                   timestamptz,
    turn_offset               bigint NOT NULL DEFAULT 0,
    last_scanned_at           timestamptz,
    last_scan_found_archives  boolean NOT NULL DEFAULT false,
    consecutive_empty_scans   integer NOT NULL DEFAULT 0 CHECK (consecutive_empty_scans >= 0),
    watermark                 bigint NOT NULL DEFAULT 0,
    newest_seen               bigint NOT NULL DEFAULT 0,
    changes                   bigint,
    asked                     boolean NOT NULL DEFAULT false,
    verdict                   text,
    PRIMARY KEY (channel, topic)
) WITH (fillfactor = 80);
CREATE INDEX places_scanned ON places (channel, topic) WHERE topic = 0 OR selected;

CREATE TABLE messages (
    channel     bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    id          bigint NOT NULL,
    topic       bigint,
    at          timestamptz NOT NULL,
    author      text NOT NULL,
    text        text NOT NULL,
    reply_to    bigint,
    album       bigint,
    file        bigint,
    file_name   text,
    file_size   bigint,
    file_kind   text,
    edited_at   timestamptz,
    deleted_at  timestamptz,
    PRIMARY KEY (channel, id)
);

-- Which stretches of a history are known to be complete, per kind; topic 0 is the whole channel.
CREATE TABLE coverage (
    channel  bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    topic    bigint NOT NULL DEFAULT 0,
    kind     text NOT NULL CHECK (kind IN ('messages', 'documents')),
    spans    int8multirange NOT NULL DEFAULT '{}',
    PRIMARY KEY (channel, topic, kind)
);

-- A set of file parts that belong together.
CREATE TABLE archives (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel   bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    topic     bigint NOT NULL,
    kind      text NOT NULL,
    base      text NOT NULL,
    name      text NOT NULL,
    state     text NOT NULL DEFAULT 'collecting' CHECK (state IN
                  ('collecting', 'waiting', 'working', 'filed', 'failed', 'given_up', 'incomplete', 'gone')),
    volumes   integer,
    lost      integer[] NOT NULL DEFAULT '{}',
    flags     text[] NOT NULL DEFAULT '{}',
    found_at  timestamptz NOT NULL DEFAULT clock_now()
);
CREATE INDEX archives_named ON archives (channel, topic, kind, base);
CREATE INDEX archives_open ON archives (channel, state)
    WHERE state IN ('collecting', 'waiting', 'working', 'incomplete');

-- The handle is what the account *handle_of* reads the file by. It expires; the message is its origin.
CREATE TABLE archive_parts (
    archive    bigint NOT NULL REFERENCES archives ON DELETE CASCADE,
    channel    bigint NOT NULL,
    message    bigint NOT NULL,
    file       bigint NOT NULL,
    number     integer NOT NULL,
    spare      boolean NOT NULL DEFAULT false,
    name       text NOT NULL,
    size       bigint NOT NULL,
    at         timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    sender     text NOT NULL,
    album      bigint,
    handle     text,
    handle_of  bigint,
    PRIMARY KEY (archive, message, file)
);
CREATE INDEX archive_parts_message ON archive_parts (channel, message);

-- An archive that could not be processed (the seed's SkippedPackage). The message is that of its first part.
CREATE TABLE failures (
    archive      bigint PRIMARY KEY REFERENCES archives ON DELETE CASCADE,
    channel      bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    topic        bigint NOT NULL,
    message      bigint NOT NULL,
    reason       text NOT NULL,
    attempts     integer NOT NULL,
    next_try_at  timestamptz NOT NULL,
    size         bigint NOT NULL DEFAULT 0,
    by_hand      boolean NOT NULL DEFAULT false,
    detail       text NOT NULL DEFAULT ''
);
CREATE INDEX failures_channel ON failures (channel, topic);

-- What each cycle did. One over a single channel has the number of the last full one and leaves it as it is.
CREATE TABLE cycles (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account   bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    number    bigint NOT NULL,
    whole     boolean NOT NULL,
    began_at  timestamptz NOT NULL,
    ended_at  timestamptz NOT NULL DEFAULT clock_now(),
    report    jsonb NOT NULL
);
CREATE INDEX cycles_account ON cycles (account, id);
CREATE INDEX cycles_ended ON cycles (ended_at);
"""
    )
