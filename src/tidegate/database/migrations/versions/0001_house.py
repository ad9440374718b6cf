"""The base tables: workers, accounts, secrets, pace, waits, calls, events, commands."""

from tidegate.database.migrations.steps import run

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
    sessions    text NOT NULL,
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

-- How fast an account sends (rules/pacing). A row that is missing is made with these careful defaults, and empty.
CREATE TABLE pace (
    account      bigint PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    tat          timestamptz NOT NULL,
    not_before   timestamptz,
    warned_at    timestamptz,
    gap          interval NOT NULL DEFAULT '15.125 s',
    burst        integer NOT NULL DEFAULT 1 CHECK (burst > 0),
    rate         integer NOT NULL DEFAULT 4 CHECK (rate > 0),
    ceiling      integer NOT NULL DEFAULT 4 CHECK (ceiling >= rate),
    cut_at       timestamptz,
    back_off     interval NOT NULL DEFAULT '0',
    clean_since  timestamptz,
    per_hour     integer CHECK (per_hour > 0),
    per_day      integer CHECK (per_day > 0),
    warm_since   timestamptz,
    warm_cap     integer CHECK (warm_cap > 0),
    claimed_at   timestamptz
) WITH (fillfactor = 50);

-- How fast one chat is sent to, where the platform limits that. Idle rows are removed: a missing one is empty.
CREATE TABLE chat_pace (
    account  bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    chat     text NOT NULL,
    tat      timestamptz NOT NULL,
    PRIMARY KEY (account, chat)
) WITH (fillfactor = 50);

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

-- claim-before-send and never-above-the-pace: charge the pace and write the call down before the network is
-- touched, in one round trip and in the caller's transaction. The twin of lanes/rules/pacing.
-- The clock is read after the last lock: above the query that locks.
-- Only spans without days are added to instants, because what a day is depends on the session's time zone.
CREATE FUNCTION claim_send(
    whose bigint, in_epoch bigint, how text, for_run bigint, to_chat text, chat_gap interval, chat_burst integer,
    OUT verdict text, OUT call bigint, OUT claimed timestamptz, OUT wait interval, OUT by_chat boolean,
    OUT clock_went_back boolean, OUT gap interval, OUT burst integer
) LANGUAGE plpgsql AS $$
DECLARE
    bucket record;
    may_at timestamptz;
    chat_tat timestamptz;
BEGIN
    IF to_chat IS NOT NULL THEN
        PERFORM
        FROM accounts a JOIN pace p ON p.account = a.id
        WHERE a.id = whose AND a.epoch = in_epoch
        FOR SHARE OF a FOR UPDATE OF p;
        IF FOUND THEN
            INSERT INTO chat_pace (account, chat, tat) VALUES (whose, to_chat, clock_now() + chat_gap * chat_burst)
            ON CONFLICT DO NOTHING;
            SELECT c.tat INTO chat_tat FROM chat_pace c WHERE c.account = whose AND c.chat = to_chat FOR UPDATE;
        END IF;
    END IF;
    SELECT locked.*, clock_now() AS moment
    INTO bucket
    FROM (
        SELECT a.state, p.tat, p.not_before, p.warned_at, p.gap, p.burst, p.per_hour,
            least(p.per_day, p.warm_cap) AS per_day
        FROM accounts a JOIN pace p ON p.account = a.id
        WHERE a.id = whose AND a.epoch = in_epoch
        FOR SHARE OF a FOR UPDATE OF p
    ) AS locked;
    IF NOT FOUND THEN
        PERFORM FROM accounts a WHERE a.id = whose AND a.epoch = in_epoch FOR SHARE;
        IF NOT FOUND THEN
            verdict := 'not ours';
            RETURN;
        END IF;
        INSERT INTO pace (account, tat) VALUES (whose, clock_now() + interval '15.125 s') ON CONFLICT DO NOTHING;
        SELECT * INTO verdict, call, claimed, wait, by_chat, clock_went_back, gap, burst
        FROM claim_send(whose, in_epoch, how, for_run, to_chat, chat_gap, chat_burst);
        RETURN;
    ELSIF bucket.state <> 'active' THEN
        verdict := 'not active';
        RETURN;
    END IF;

    may_at := bucket.moment;
    IF bucket.tat > bucket.moment OR bucket.not_before > bucket.moment THEN
        IF bucket.tat > bucket.moment + bucket.gap * bucket.burst THEN
            bucket.tat := bucket.moment + bucket.gap * bucket.burst;
            clock_went_back := true;
        END IF;
        IF bucket.warned_at > bucket.moment THEN
            bucket.not_before := bucket.moment
                + make_interval(secs => extract(epoch FROM bucket.not_before - bucket.warned_at)::double precision);
            bucket.warned_at := bucket.moment;
            clock_went_back := true;
        END IF;
        may_at := greatest(bucket.tat - bucket.gap * (bucket.burst - 1), bucket.not_before, bucket.moment);
    END IF;
    IF bucket.per_hour IS NOT NULL OR bucket.per_day IS NOT NULL THEN
        -- What was never handed over does not count for the caps; its token is lost all the same.
        SELECT greatest(may_at, max(least(sent.at, bucket.moment) + cap.span)) INTO may_at
        FROM (VALUES (bucket.per_hour, interval '1 hour'), (bucket.per_day, interval '24 hours')) AS cap (most, span)
        CROSS JOIN LATERAL (
            SELECT c.at
            FROM calls c
            WHERE c.account = whose AND c.charged AND c.outcome <> 'not_sent' AND c.at > bucket.moment - cap.span
            ORDER BY c.at DESC OFFSET cap.most - 1 LIMIT 1
        ) AS sent
        WHERE cap.most IS NOT NULL;
    END IF;
    IF to_chat IS NOT NULL THEN
        IF chat_tat > bucket.moment + chat_gap * chat_burst THEN
            chat_tat := bucket.moment + chat_gap * chat_burst;
            clock_went_back := true;
        END IF;
        by_chat := bucket.moment >= may_at;
        IF by_chat THEN
            may_at := greatest(chat_tat, bucket.moment) - chat_gap * (chat_burst - 1);
        END IF;
    END IF;

    IF bucket.moment >= may_at THEN
        WITH charged AS (
            UPDATE pace p
            SET tat = greatest(bucket.tat, bucket.moment) + bucket.gap, claimed_at = bucket.moment
            WHERE p.account = whose
        )
        INSERT INTO calls (account, kind, method, run, outcome, at, charged)
        VALUES (whose, 'work', how, for_run, 'claimed', bucket.moment, true)
        RETURNING 'granted', id, at, bucket.gap, bucket.burst INTO verdict, call, claimed, gap, burst;
        IF to_chat IS NOT NULL THEN
            UPDATE chat_pace c SET tat = greatest(chat_tat, bucket.moment) + chat_gap
            WHERE c.account = whose AND c.chat = to_chat;
        END IF;
        RETURN;
    END IF;

    verdict := 'wait';
    wait := may_at - bucket.moment;
    IF clock_went_back THEN
        UPDATE pace p SET tat = bucket.tat, not_before = bucket.not_before, warned_at = bucket.warned_at
        WHERE p.account = whose;
        UPDATE chat_pace c SET tat = chat_tat WHERE c.account = whose AND c.chat = to_chat;
        INSERT INTO events (at, kind, subject)
        SELECT bucket.moment, 'pace.clock_went_back', a.name FROM accounts a WHERE a.id = whose;
    END IF;
END $$;

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
CREATE INDEX commands_ended ON commands (ended_at) WHERE ended_at IS NOT NULL;
"""
    )
