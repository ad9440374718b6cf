"""Sums by hour for the charts: messages by channel, requests by account, and what is kept by day."""

from tidegate.database.migrations.steps import run

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    run(
        """
-- Messages of a channel by the hour they were written in, deleted ones too. Only the newest weeks are kept.
CREATE TABLE message_hours (
    channel  bigint      NOT NULL REFERENCES channels ON DELETE CASCADE,
    hour     timestamptz NOT NULL,
    messages integer     NOT NULL,
    PRIMARY KEY (channel, hour)
) WITH (fillfactor = 80);
CREATE FUNCTION count_message_hours() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO message_hours AS h (channel, hour, messages)
    SELECT channel, date_trunc('hour', at, 'UTC'), count(*) FROM after_rows
    WHERE at > clock_now() - interval '32 days'
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (channel, hour) DO UPDATE SET messages = h.messages + excluded.messages;
    RETURN NULL;
END $$;
CREATE TRIGGER messages_by_hour AFTER INSERT ON messages REFERENCING NEW TABLE AS after_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_message_hours();

-- What an account did in an hour. Requests are calls that were made, with those of connecting; sends are among them.
-- A check is a pass over all channels of the account: what it took, and one request for each channel and topic.
CREATE TABLE account_hours (
    account        bigint      NOT NULL,
    hour           timestamptz NOT NULL,
    requests       bigint      NOT NULL DEFAULT 0,
    sends          bigint      NOT NULL DEFAULT 0,
    errors         bigint      NOT NULL DEFAULT 0,
    checks         bigint      NOT NULL DEFAULT 0,
    check_requests bigint      NOT NULL DEFAULT 0,
    check_places   bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (account, hour)
) WITH (fillfactor = 60);
CREATE FUNCTION count_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO account_hours AS h (account, hour, requests, sends, errors)
        SELECT account, date_trunc('hour', at, 'UTC'), count(*) FILTER (WHERE outcome <> 'not_sent'),
            count(*) FILTER (WHERE charged AND outcome <> 'not_sent'),
            count(*) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed'))
        FROM after_rows
        WHERE at > clock_now() - interval '32 days'
        GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (account, hour) DO UPDATE
        SET requests = h.requests + excluded.requests, sends = h.sends + excluded.sends,
            errors = h.errors + excluded.errors;
    ELSE
        INSERT INTO account_hours AS h (account, hour, requests, sends, errors)
        SELECT account, date_trunc('hour', at, 'UTC'), coalesce(sum(sign) FILTER (WHERE outcome <> 'not_sent'), 0),
            coalesce(sum(sign) FILTER (WHERE charged AND outcome <> 'not_sent'), 0),
            coalesce(sum(sign) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed')), 0)
        FROM (SELECT account, at, outcome, charged, 1 AS sign FROM after_rows
              UNION ALL SELECT account, at, outcome, charged, -1 FROM before_rows) AS changed
        WHERE at > clock_now() - interval '32 days'
        GROUP BY 1, 2
        HAVING coalesce(sum(sign) FILTER (WHERE outcome = 'not_sent'), 0) <> 0
            OR coalesce(sum(sign) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed')), 0) <> 0
        ORDER BY 1, 2
        ON CONFLICT (account, hour) DO UPDATE
        SET requests = h.requests + excluded.requests, sends = h.sends + excluded.sends,
            errors = h.errors + excluded.errors;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER calls_counted AFTER INSERT ON calls REFERENCING NEW TABLE AS after_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_calls();
CREATE TRIGGER calls_recounted AFTER UPDATE ON calls REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_calls();

-- How many requests a check takes that asks every mirrored channel of an account, and every topic of a forum.
CREATE FUNCTION places_read_by(whose bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(greatest(1, (
        SELECT count(*) FROM places p WHERE p.channel = c.id AND p.topic <> 0
    ))), 0)::bigint
    FROM channels c WHERE c.enabled AND c.reader = whose
$$;
CREATE FUNCTION count_checks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' AND NEW.whole THEN
        INSERT INTO account_hours AS h (account, hour, checks, check_requests, check_places)
        VALUES (NEW.account, date_trunc('hour', NEW.ended_at, 'UTC'), 1,
                coalesce((NEW.report ->> 'calls_total')::bigint, 0), places_read_by(NEW.account))
        ON CONFLICT (account, hour) DO UPDATE
        SET checks = h.checks + 1, check_requests = h.check_requests + excluded.check_requests,
            check_places = h.check_places + excluded.check_places;
    ELSIF TG_OP = 'UPDATE' AND NEW.whole AND NEW.report IS DISTINCT FROM OLD.report THEN
        UPDATE account_hours h
        SET check_requests = check_requests + coalesce((NEW.report ->> 'calls_total')::bigint, 0)
                - coalesce((OLD.report ->> 'calls_total')::bigint, 0)
        WHERE h.account = NEW.account AND h.hour = date_trunc('hour', NEW.ended_at, 'UTC');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER cycles_counted AFTER INSERT OR UPDATE ON cycles FOR EACH ROW EXECUTE FUNCTION count_checks();

-- What is kept in all, by day (UTC): archives that were found, with the bytes they have at their source, and files.
CREATE TABLE storage_days (
    day           date   PRIMARY KEY,
    archives      bigint NOT NULL,
    archive_bytes bigint NOT NULL,
    files         bigint NOT NULL,
    file_bytes    bigint NOT NULL
);

-- Rows that are older than these tables are counted later, some hours at a time, from the newest down. A row names what
-- is still to be counted, and below which hour; without an hour it has not begun.
CREATE TABLE hour_fills (
    what  text PRIMARY KEY CHECK (what IN ('messages', 'accounts')),
    below timestamptz
);
INSERT INTO hour_fills (what) VALUES ('messages'), ('accounts');
"""
    )
