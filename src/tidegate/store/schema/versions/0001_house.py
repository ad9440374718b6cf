"""The house: workers, accounts, secrets, pace, waits, calls, events, commands."""

from tidegate.store.schema.steps import run

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

-- Law 6 and 7: charge the pace and write the call down before the network is touched, in one round trip and in the
-- caller's transaction. The twin of rules/pacing; times of day are read after the locks. Only spans without days are
-- added to instants, because what a day is depends on the session's time zone.
CREATE FUNCTION claim_send(
    whose bigint, in_epoch bigint, how text, for_run bigint, to_chat text, chat_gap interval, chat_burst integer,
    OUT verdict text, OUT call bigint, OUT claimed timestamptz, OUT wait interval, OUT by_chat boolean,
    OUT clock_went_back boolean, OUT gap interval, OUT burst integer
) LANGUAGE plpgsql AS $$
DECLARE
    owner record;
    bucket pace%ROWTYPE;
    chat_tat timestamptz;
    moment timestamptz;
    base timestamptz;
    chat_base timestamptz;
    may_at timestamptz;
    chat_may_at timestamptz;
    day_cap integer;
BEGIN
    by_chat := false;
    clock_went_back := false;
    SELECT a.name, a.state INTO owner FROM accounts a WHERE a.id = whose AND a.epoch = in_epoch FOR SHARE;
    IF NOT FOUND THEN
        verdict := 'not ours';
        RETURN;
    ELSIF owner.state <> 'active' THEN
        verdict := 'not active';
        RETURN;
    END IF;

    SELECT * INTO bucket FROM pace p WHERE p.account = whose FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO pace (account, tat) VALUES (whose, clock_now() + interval '15.125 s') ON CONFLICT DO NOTHING;
        SELECT * INTO bucket FROM pace p WHERE p.account = whose FOR UPDATE;
    END IF;
    IF to_chat IS NOT NULL THEN
        SELECT c.tat INTO chat_tat FROM chat_pace c WHERE c.account = whose AND c.chat = to_chat FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO chat_pace (account, chat, tat) VALUES (whose, to_chat, clock_now() + chat_gap * chat_burst)
            RETURNING tat INTO chat_tat;
        END IF;
    END IF;
    moment := clock_now();
    gap := bucket.gap;
    burst := bucket.burst;

    IF bucket.tat > moment + gap * burst THEN
        bucket.tat := moment + gap * burst;
        clock_went_back := true;
    END IF;
    IF bucket.not_before IS NOT NULL AND bucket.warned_at > moment THEN
        bucket.not_before :=
            moment + make_interval(secs => extract(epoch FROM bucket.not_before - bucket.warned_at)::double precision);
        bucket.warned_at := moment;
        clock_went_back := true;
    END IF;
    base := greatest(bucket.tat, moment);
    may_at := greatest(base - gap * (burst - 1), bucket.not_before);
    IF to_chat IS NOT NULL THEN
        IF chat_tat > moment + chat_gap * chat_burst THEN
            chat_tat := moment + chat_gap * chat_burst;
            clock_went_back := true;
        END IF;
        chat_base := greatest(chat_tat, moment);
        chat_may_at := chat_base - chat_gap * (chat_burst - 1);
    END IF;

    -- What was never handed over does not count for the caps; its token is lost all the same.
    IF bucket.per_hour IS NOT NULL THEN
        may_at := greatest(may_at, (
            SELECT least(c.at, moment) + interval '1 hour'
            FROM calls c
            WHERE c.account = whose AND c.charged AND c.outcome <> 'not_sent' AND c.at > moment - interval '1 hour'
            ORDER BY c.at DESC OFFSET bucket.per_hour - 1 LIMIT 1));
    END IF;
    day_cap := least(bucket.per_day, bucket.warm_cap);
    IF day_cap IS NOT NULL THEN
        may_at := greatest(may_at, (
            SELECT least(c.at, moment) + interval '24 hours'
            FROM calls c
            WHERE c.account = whose AND c.charged AND c.outcome <> 'not_sent' AND c.at > moment - interval '24 hours'
            ORDER BY c.at DESC OFFSET day_cap - 1 LIMIT 1));
    END IF;

    IF moment >= greatest(may_at, chat_may_at) THEN
        UPDATE pace p SET tat = base + bucket.gap, claimed_at = moment WHERE p.account = whose;
        IF to_chat IS NOT NULL THEN
            UPDATE chat_pace c SET tat = chat_base + chat_gap WHERE c.account = whose AND c.chat = to_chat;
        END IF;
        INSERT INTO calls (account, kind, method, run, outcome, at, charged)
        VALUES (whose, 'work', how, for_run, 'claimed', moment, true)
        RETURNING id INTO call;
        claimed := moment;
        verdict := 'granted';
        RETURN;
    END IF;

    verdict := 'wait';
    by_chat := moment >= may_at;
    wait := CASE WHEN by_chat THEN chat_may_at ELSE may_at END - moment;
    IF clock_went_back THEN
        UPDATE pace p SET tat = bucket.tat, not_before = bucket.not_before, warned_at = bucket.warned_at
        WHERE p.account = whose;
        UPDATE chat_pace c SET tat = chat_tat WHERE c.account = whose AND c.chat = to_chat;
        INSERT INTO events (at, kind, subject) VALUES (moment, 'pace.clock_went_back', owner.name);
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
