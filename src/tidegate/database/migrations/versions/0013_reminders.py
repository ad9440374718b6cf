"""Reminders: what to say to whom and when, the files they carry, and the runs that deliver them."""

from tidegate.database.migrations.steps import run

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run(
        """
-- Since when a person has stopped every run; those that open meanwhile open paused.
ALTER TABLE house ADD COLUMN runs_paused_at timestamptz;

-- A file of the operator's own, kept once by its content, in pieces that fit into memory.
CREATE TABLE media (
    sha256   bytea PRIMARY KEY,
    size     bigint NOT NULL CHECK (size > 0),
    mime     text NOT NULL,
    kept_at  timestamptz NOT NULL DEFAULT clock_now()
);
CREATE TABLE media_pieces (
    sha256   bytea NOT NULL REFERENCES media ON DELETE CASCADE,
    number   integer NOT NULL,
    content  bytea NOT NULL,
    PRIMARY KEY (sha256, number)
);
ALTER TABLE media_pieces ALTER COLUMN content SET STORAGE EXTERNAL;  -- pictures and videos are compressed already

-- What an account's platform gave us for a file of ours, to be used again for as long as it is taken.
CREATE TABLE uploads (
    account    bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    sha256     bytea NOT NULL REFERENCES media ON DELETE CASCADE,
    kind       text NOT NULL CHECK (kind IN ('picture', 'video', 'document')),
    reference  bytea NOT NULL,
    made_at    timestamptz NOT NULL DEFAULT clock_now(),
    PRIMARY KEY (account, sha256, kind)
);
CREATE INDEX uploads_of ON uploads (sha256);

-- A saved list of groups, under a name.
CREATE TABLE target_lists (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name  text NOT NULL UNIQUE
);
CREATE TABLE target_list_members (
    list     bigint NOT NULL REFERENCES target_lists ON DELETE CASCADE,
    channel  bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
    PRIMARY KEY (list, channel)
);
CREATE INDEX target_list_members_channel ON target_list_members (channel);

-- A reminder as it was written. *due_at* is its next firing, null for one that is fired by hand or is over. *doubtful*
-- after a restore: the firing that is due may have been made before, so it opens paused.
CREATE TABLE reminders (
    id                          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                        text NOT NULL UNIQUE,
    account                     bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    written                     jsonb NOT NULL,
    delivery_window_start_hour  integer NOT NULL DEFAULT 6,
    delivery_window_end_hour    integer NOT NULL DEFAULT 18,
    timezone                    text NOT NULL,
    list                        bigint REFERENCES target_lists ON DELETE RESTRICT,
    due_at                      timestamptz,
    doubtful                    boolean NOT NULL DEFAULT false,
    added_at                    timestamptz NOT NULL DEFAULT clock_now(),
    CHECK (0 <= delivery_window_start_hour AND delivery_window_start_hour < delivery_window_end_hour
           AND delivery_window_end_hour <= 24)
);
CREATE INDEX reminders_due ON reminders (account, due_at);
CREATE INDEX reminders_list ON reminders (list) WHERE list IS NOT NULL;

-- Groups named one by one, and the channel each name meant when the reminder was saved: a group may be renamed.
CREATE TABLE reminder_targets (
    reminder  bigint NOT NULL REFERENCES reminders ON DELETE CASCADE,
    number    integer NOT NULL,
    named     text NOT NULL,
    channel   bigint REFERENCES channels ON DELETE SET NULL,
    PRIMARY KEY (reminder, number)
);
CREATE INDEX reminder_targets_channel ON reminder_targets (channel);

-- The files a reminder's parts name, as they were when it was saved.
CREATE TABLE reminder_media (
    reminder  bigint NOT NULL REFERENCES reminders ON DELETE CASCADE,
    name      text NOT NULL,
    sha256    bytea NOT NULL REFERENCES media,
    PRIMARY KEY (reminder, name)
);
CREATE INDEX reminder_media_of ON reminder_media (sha256);

-- One firing of a reminder. A firing that was due is opened once, however many workers see it. *opens_at* and
-- *closes_at* are the instants of the window it sends in, or waits for. *counts* are its targets by state, at its end.
CREATE TABLE runs (
    id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    reminder            bigint REFERENCES reminders ON DELETE SET NULL,
    name                text NOT NULL,
    account             bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
    test                boolean NOT NULL DEFAULT false,
    due_at              timestamptz,
    fired_at            timestamptz NOT NULL DEFAULT clock_now(),
    start_hour          integer NOT NULL,
    end_hour            integer NOT NULL,
    timezone            text NOT NULL,
    when_window_closes  text NOT NULL CHECK (when_window_closes IN ('stop', 'resume_next')),
    when_unknown        text NOT NULL CHECK (when_unknown IN ('hold', 'assume_sent', 'resend')),
    begun_target        text NOT NULL CHECK (begun_target IN ('finish', 'strict')),
    state               text NOT NULL CHECK (state IN ('running', 'waiting', 'paused', 'needs_attention', 'ended')),
    paused_by           text CHECK (paused_by IN ('person', 'everything', 'restore')),
    status              text CHECK (status IN ('success', 'partial', 'failed', 'cancelled')),
    error_summary       text NOT NULL DEFAULT '',
    counts              jsonb,
    uploads             integer NOT NULL DEFAULT 0,
    opens_at            timestamptz NOT NULL,
    closes_at           timestamptz NOT NULL,
    began_at            timestamptz,
    paused_at           timestamptz,
    paused_for          interval NOT NULL DEFAULT '0',
    cancelled_at        timestamptz,
    ended_at            timestamptz,
    UNIQUE (reminder, due_at),
    CHECK ((state = 'paused') = (paused_by IS NOT NULL)),
    CHECK ((state = 'ended') = (status IS NOT NULL AND ended_at IS NOT NULL AND counts IS NOT NULL))
);
CREATE INDEX runs_open ON runs (account, id) WHERE state <> 'ended';
CREATE INDEX runs_ended ON runs (ended_at) WHERE state = 'ended';

CREATE TABLE run_targets (
    run      bigint NOT NULL REFERENCES runs ON DELETE CASCADE,
    number   integer NOT NULL,
    channel  bigint REFERENCES channels ON DELETE SET NULL,
    title    text NOT NULL,
    PRIMARY KEY (run, number)
);
CREATE INDEX run_targets_channel ON run_targets (channel);

-- One message to one target. The *key* is what a platform that removes duplicates recognises a repeated send by, made
-- before the first try. *doubtful_since* is the claim of an earlier try that may have arrived. *message* is the
-- platform's number of it, or its name there. No index knows the state, so that a change of it stays within its page.
CREATE TABLE run_parts (
    run             bigint NOT NULL,
    target          integer NOT NULL,
    number          integer NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('text', 'picture', 'video', 'document')),
    text            text NOT NULL,
    media           bytea REFERENCES media,
    file_name       text,
    state           text NOT NULL DEFAULT 'pending'
                        CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'skipped', 'unknown')),
    key             text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text,
    attempts        integer NOT NULL DEFAULT 0,
    not_before      timestamptz,
    claimed_at      timestamptz,
    doubtful_since  timestamptz,
    sent_at         timestamptz,
    latency         interval,
    message         text,
    error           text NOT NULL DEFAULT '',
    PRIMARY KEY (run, target, number),
    FOREIGN KEY (run, target) REFERENCES run_targets ON DELETE CASCADE,
    CHECK ((kind = 'text') = (media IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX run_parts_media ON run_parts (media) WHERE media IS NOT NULL;

-- What became of each target, read off its parts: the one that needs most attention speaks for it (the rule
-- target_state says the same).
CREATE VIEW run_target_states AS
SELECT t.run, t.number, t.channel, t.title,
    CASE WHEN bool_or(p.state = 'sending') THEN 'sending'
         WHEN bool_or(p.state = 'unknown') THEN 'unknown'
         WHEN bool_or(p.state = 'failed') THEN 'failed'
         WHEN bool_or(p.state = 'pending') THEN 'pending'
         WHEN bool_or(p.state = 'skipped') THEN 'skipped'
         ELSE 'sent' END AS state,
    coalesce((array_agg(p.error ORDER BY p.state <> 'failed', p.number) FILTER (WHERE p.error <> ''))[1], '') AS error,
    sum(p.latency) AS latency
FROM run_targets t JOIN run_parts p ON p.run = t.run AND p.target = t.number
GROUP BY t.run, t.number;
"""
    )
