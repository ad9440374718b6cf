"""Two Discord servers with channels of one title, a thread below each, and something of every page about them."""

from __future__ import annotations

from tidegate.database.pool import Database

TITLE, THREAD = "quayside", "crates"
SERVERS = ("Harbour", "Orchard")
"""As long as each other, which a pattern that looks behind needs."""

_FILLED = """
INSERT INTO accounts (id, name, platform, standing) OVERRIDING SYSTEM VALUE
VALUES (1, 'gate', 'discord', 'normal'), (2, 'spare', 'discord', 'normal');
INSERT INTO pace (account, tat, rate, ceiling) SELECT id, clock_now() - interval '1 day', 40, 40 FROM accounts;
INSERT INTO guilds (platform, number, title) VALUES ('discord', 71, 'Harbour'), ('discord', 72, 'Orchard');
INSERT INTO channels (id, platform, number, title, kind, guild, parent, enabled, in_full, reader, destination)
OVERRIDING SYSTEM VALUE
VALUES (1, 'discord', 81, 'quayside', 'channel', 71, NULL, true, true, 1, 2),
    (2, 'discord', 82, 'quayside', 'channel', 72, NULL, true, true, 1, 1),
    (3, 'discord', 83, 'crates', 'thread', 71, 81, true, true, 1, NULL),
    (4, 'discord', 84, 'crates', 'thread', 72, 82, true, true, 1, NULL);
INSERT INTO sights (account, channel, may_post) SELECT a.id, c.id, true FROM accounts a, channels c;
INSERT INTO places (channel, topic, watermark, newest_seen) SELECT id, 0, 190, 190 FROM channels;
INSERT INTO coverage (channel, kind, spans) SELECT id, 'messages', '{[81,191)}' FROM channels;
INSERT INTO messages (channel, id, at, author, text) SELECT id, 190, clock_now(), 'Ada', 'a heavy box' FROM channels;
INSERT INTO attachments (channel, message, number, file, name, size, mime, kind)
SELECT id, 190, 1, 100 + id, 'a.png', 10, 'image/png', 'picture' FROM channels;
INSERT INTO media_files (platform, file, kind, state, channel, message, size)
SELECT 'discord', 100 + id, 'picture', 'wanted', id, 190, 10 FROM channels;
INSERT INTO media_blobs (sha256, size, type) VALUES (decode(repeat('07', 32), 'hex'), 5, 'image/png');
INSERT INTO media_files (platform, file, kind, state, channel, message, size, sha256)
SELECT 'discord', 200 + id, 'video', 'kept', id, 190, 5, decode(repeat('07', 32), 'hex') FROM channels;
INSERT INTO media_rules (channel, kind, action) SELECT id, 'video', 'no' FROM channels;
INSERT INTO archives (id, channel, topic, kind, base, name, state) OVERRIDING SYSTEM VALUE
SELECT id, id, 0, 'tar', 'a', 'a.zip', CASE WHEN id < 3 THEN 'failed' ELSE 'filed' END FROM channels;
INSERT INTO archive_parts (archive, channel, message, file, number, name, size, at, seen_at, sender)
SELECT id, channel, 190, 2, 1, 'a.zip', 10, clock_now(), clock_now(), '' FROM archives;
INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at)
SELECT id, channel, 0, 190, 'download', 1, clock_now() FROM archives WHERE state = 'failed';
INSERT INTO deliveries (archive, destination, number, source_message, source_file, name, first_byte, size, way)
SELECT id, CASE id WHEN 1 THEN 2 ELSE 1 END, 1, 190, 2, 'a.zip', 0, 10, 'upload' FROM archives;
INSERT INTO tokens (name, hash, scopes, channels) VALUES ('bot', 'h', '{read}', '{1,2,3,4}');
INSERT INTO target_lists (name) VALUES ('all shops');
INSERT INTO target_list_members (list, channel) SELECT l.id, 1 FROM target_lists l;
INSERT INTO reminders (name, account, written, timezone)
VALUES ('Friday', 1, '{"name": "Friday", "account": "gate", "targets": ["81", "82"], "parts": [{"text": "Hello"}],
         "delivery_window_start_hour": 0, "delivery_window_end_hour": 24, "timezone": "UTC"}', 'UTC');
INSERT INTO reminder_targets (reminder, number, named, channel)
SELECT r.id, c.id, c.number::text, c.id FROM reminders r, channels c WHERE c.id < 3;
INSERT INTO runs (reminder, name, account, start_hour, end_hour, timezone, when_window_closes, when_unknown,
                  begun_target, state, paused_by, opens_at, closes_at)
SELECT id, name, account, 0, 24, 'UTC', 'stop', 'hold', 'finish', 'paused', 'person', clock_now(),
    clock_now() + interval '1 hour' FROM reminders;
INSERT INTO run_targets (run, number, channel, title) SELECT r.id, c.id, c.id, c.title FROM runs r, channels c;
INSERT INTO run_parts (run, target, number, kind, text) SELECT r.run, r.number, 1, 'text', 'Hello' FROM run_targets r;
INSERT INTO cycles (account, number, whole, began_at, ended_at, report)
VALUES (1, 1, true, clock_now(), clock_now(), '{"calls_total": 3}');
INSERT INTO events (kind, subject, data)
SELECT k.kind, c.title, jsonb_build_object('channel', c.number, 'channel_key', c.id, 'messages', 3, 'archives', 1)
FROM channels c, unnest(array['channel.read', 'channel.enabled', 'backfill.ended', 'backfill.progressed']) AS k (kind);
"""


async def fill(database: Database) -> None:
    """Fill an empty database with them."""
    await database.pool.execute(_FILLED)
