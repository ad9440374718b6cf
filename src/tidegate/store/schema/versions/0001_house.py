"""The house: workers, accounts, secrets, pace, waits, calls, events, commands."""

from tidegate.store.upgrade import run

revision = "0001"
down_revision = None


def upgrade() -> None:
    run(
        """
-- The one clock workers share. Tests replace it.
CREATE FUNCTION clock_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- Whether this database is for the loopback platforms or for real ones; never both. Empty until the first account.
CREATE TABLE house (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    world     text CHECK (world IN ('loopback', 'real')),
    made_at   timestamptz NOT NULL DEFAULT clock_now()
);
INSERT INTO house DEFAULT VALUES;

-- A worker lives while its session holds the advisory lock of its number; the row says who that was.
CREATE TABLE workers (
    number      integer PRIMARY KEY,
    name        text NOT NULL,
    host        text NOT NULL,
    process     text NOT NULL,
    version     text NOT NULL,
    seats       integer NOT NULL,
    time_out    interval NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT clock_now(),
    beat_at     timestamptz NOT NULL DEFAULT clock_now(),
    ended_at    timestamptz,
    ending      text CHECK (ending IN ('left', 'died', 'silent')),
    CHECK ((ended_at IS NULL) = (ending IS NULL))
);

CREATE TABLE accounts (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    platform     text NOT NULL CHECK (platform IN ('telegram', 'discord', 'whatsapp')),
    standing     text NOT NULL DEFAULT 'normal' CHECK (standing IN ('new', 'normal', 'established')),
    state        text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'signed_out', 'banned')),
    state_until  timestamptz,
    loopback     text,
    made_at      timestamptz NOT NULL DEFAULT clock_now(),
    cycle        bigint NOT NULL DEFAULT 0,
    owner        integer,
    epoch        bigint NOT NULL DEFAULT 0
);
CREATE INDEX accounts_owner ON accounts (owner);

CREATE TABLE secrets (
    account  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    name     text NOT NULL,
    key_id   text NOT NULL,
    sealed   bytea NOT NULL,
    PRIMARY KEY (account, name)
);

-- What the platform asked to wait; a row outlives the worker that was told.
CREATE TABLE waits (
    account  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    kind     text NOT NULL CHECK (kind IN ('account', 'method', 'bucket', 'chat')),
    key      text NOT NULL DEFAULT '',
    until    timestamptz NOT NULL,
    PRIMARY KEY (account, kind, key)
);

-- The ledger. A charged call (a send) is written as 'claimed' before the network is touched.
CREATE TABLE calls (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account  bigint NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('work', 'connect')),
    method   text NOT NULL,
    cycle    bigint,
    run      bigint,
    outcome  text NOT NULL CHECK (outcome IN ('claimed', 'ok', 'asked_to_wait', 'not_sent', 'unknown', 'failed')),
    at       timestamptz NOT NULL,
    took     interval,
    charged  boolean NOT NULL DEFAULT false
);
CREATE INDEX calls_at ON calls (at);
CREATE INDEX calls_charged ON calls (account, at) WHERE charged;

-- The feed. Ids do not commit in order, so readers go by (tx, id) below the snapshot's xmin.
CREATE TABLE events (
    tx       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id       bigint GENERATED ALWAYS AS IDENTITY,
    at       timestamptz NOT NULL DEFAULT clock_now(),
    kind     text NOT NULL,
    subject  text NOT NULL,
    data     jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tx, id)
);
CREATE INDEX events_at ON events (at);

-- What people ask of the worker that serves an account.
CREATE TABLE commands (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account   bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    kind      text NOT NULL,
    args      jsonb NOT NULL DEFAULT '{}',
    state     text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'taken', 'done', 'failed')),
    epoch     bigint,
    result    jsonb,
    error     text,
    asked_at  timestamptz NOT NULL DEFAULT clock_now(),
    ended_at  timestamptz
);
CREATE INDEX commands_open ON commands (account, id) WHERE state IN ('asked', 'taken');
"""
    )
