"""Rows for every part of Home."""

from __future__ import annotations

FILLED = """
INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out)
VALUES (1, 'anna', 's', 'h', 'p', '1', 10, '15 s'), (2, 'gone', 's', 'h', 'p', '1', 10, '15 s');
UPDATE workers SET ended_at = clock_now(), ending = 'died' WHERE number = 2;
INSERT INTO accounts (name, platform, owner, state)
VALUES ('ada', 'telegram', 1, 'active'), ('left', 'telegram', 2, 'active'), ('out', 'whatsapp', NULL, 'signed_out'),
    ('rests', 'discord', NULL, 'paused');
INSERT INTO pace (account, tat, rate, ceiling) VALUES (1, clock_now(), 20, 40);
INSERT INTO waits (account, kind, until) VALUES (1, 'account', clock_now() + interval '1 hour');
INSERT INTO calls (account, kind, method, outcome, at, charged)
VALUES (1, 'work', 'send', 'ok', clock_now(), true), (1, 'work', 'read', 'ok', clock_now(), false),
    (1, 'work', 'read', 'not_sent', clock_now(), false), (1, 'connect', 'hello', 'ok', clock_now(), false),
    (1, 'work', 'send', 'ok', clock_now() - interval '2 minutes', true),
    (1, 'work', 'send', 'ok', clock_now() - interval '25 hours', true);
INSERT INTO channels (platform, number, title, enabled, reader)
VALUES ('telegram', 1, 'forum', true, 1), ('telegram', 2, 'plain', true, 1), ('telegram', 3, 'off', false, 1);
INSERT INTO places (channel, topic) SELECT 1, n FROM generate_series(0, 100) n;
INSERT INTO places (channel, topic) VALUES (2, 0), (3, 0);
INSERT INTO cycles (account, number, whole, began_at, ended_at, report)
VALUES (1, 1, true, clock_now(), clock_now(), '{"calls_total": 3}'),
    (1, 2, true, clock_now(), clock_now(), '{"calls_total": 1}'),
    (1, 2, false, clock_now(), clock_now(), '{"calls_total": 7}'),
    (1, 0, true, clock_now(), clock_now() - interval '25 hours', '{"calls_total": 9}');
INSERT INTO archives (channel, topic, kind, base, name, state)
VALUES (1, 1, 'zip', 'a', 'a.zip', 'given_up'), (1, 1, 'zip', 'b', 'b.zip', 'failed');
INSERT INTO commands (account, kind, state) VALUES (1, 'cycle', 'taken'), (1, 'backfill', 'asked'), (1, 'sync', 'done');
"""
