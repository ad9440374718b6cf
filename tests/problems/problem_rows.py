"""Rows of a database in which something needs a person."""

from __future__ import annotations

from tidegate.database.pool import Database

ACCOUNTS = """
INSERT INTO accounts (name, platform, state, state_why, state_since, unreachable_since, unreachable_why, made_at)
VALUES
    ('ada', 'telegram', 'active', NULL, NULL, NULL, NULL, clock_now() - interval '1 day'),
    ('out', 'whatsapp', 'signed_out', 'The phone signed it out.', '2026-11-01T09:00Z', NULL, NULL, clock_now()),
    ('gone', 'telegram', 'banned', NULL, '2026-11-02T09:00Z', NULL, NULL, clock_now()),
    ('odd', 'telegram', 'paused', 'It is another person now.', '2026-11-03T09:00Z', NULL, NULL, clock_now()),
    ('rests', 'discord', 'paused', NULL, '2026-11-03T09:00Z', NULL, NULL, clock_now()),
    ('dark', 'discord', 'active', NULL, NULL, '2026-11-04T09:00Z', 'No route to host.', clock_now()),
    ('blinks', 'discord', 'active', NULL, NULL, clock_now(), 'No route to host.', clock_now());
"""

CHANNELS = """
INSERT INTO channels (platform, number, title, enabled, reader, state)
SELECT 'telegram', n, 'Customers ' || n, true, a.id, CASE n WHEN 3 THEN 'unreadable' ELSE 'ok' END
FROM generate_series(1, 3) n, accounts a WHERE a.name = 'ada';
INSERT INTO sights (account, channel) SELECT reader, id FROM channels;
"""

ARCHIVES = """
INSERT INTO archives (channel, topic, kind, base, name, state)
SELECT 1, 0, 'zip', n::text, n || '.zip', CASE WHEN n < 3 THEN 'given_up' ELSE 'failed' END
FROM generate_series(1, 3) n;
INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at, detail, since)
SELECT id, 1, 0, 1, 'download', 5, clock_now(), '', '2026-11-05T09:00Z' FROM archives;
INSERT INTO disk_pauses (account, machine, sentence, needed, since)
VALUES (1, 'here', 'The disk of here is full.', 5, '2026-11-06T09:00Z');
"""

WORKER = """
INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out, beat_at, ended_at, ending)
VALUES (7, 'anna', 's', 'h', 'p', '1', 10, '15 s', '2026-11-07T09:00Z', '2026-11-07T09:00Z', 'died');
"""


async def fill(database: Database, *rows: str) -> None:
    """Put these rows into the database."""
    for one in rows:
        await database.pool.execute(one)
