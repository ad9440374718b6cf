"""A database with rows in every table."""

from __future__ import annotations

from tidegate.database.pool import Database

FILLED = """
UPDATE house SET world = 'real';
INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out)
VALUES (5, 'w', 's', 'h', 'p', '1', 10, '15 s');
INSERT INTO accounts (name, platform, owner, epoch, cycle)
SELECT 'account ' || n, 'telegram', CASE WHEN n % 2 = 0 THEN 5 END, n, 100 + n FROM generate_series(1, 20) n;
INSERT INTO secrets (account, name, key_id, sealed) SELECT id, 'session', 'k', decode('00ff10', 'hex') FROM accounts;
INSERT INTO house_secrets (name, key_id, sealed) VALUES ('whatsapp.role', 'k', decode('00ff10', 'hex'));
INSERT INTO pace (account, tat, rate, ceiling) SELECT id, clock_now() - interval '1 day', 4, 12 FROM accounts;
INSERT INTO chat_pace (account, chat, tat) SELECT id, 'chat', clock_now() - interval '1 day' FROM accounts;
INSERT INTO waits (account, kind, until) SELECT id, 'account', clock_now() + interval '1 hour' FROM accounts;
INSERT INTO calls (account, kind, method, outcome, at, took, charged)
SELECT n % 20, 'work', E'strange\\t\\n"name"', 'ok', clock_now(), '20 ms', true FROM generate_series(1, 500) n;
INSERT INTO commands (account, kind, args) SELECT id, 'pause', '{"é": [1, null]}' FROM accounts;
INSERT INTO channels (platform, number, title, enabled)
SELECT 'telegram', n, E'a\ttitle', true FROM generate_series(1, 3) n;
UPDATE channels SET private_to = 1, moved_to = 2 WHERE number = 3;
INSERT INTO account_boxes (account, pts, qts, date) SELECT id, 5, 1, clock_now() FROM accounts;
INSERT INTO sights (account, channel) SELECT a.id, c.id FROM accounts a, channels c;
INSERT INTO places (channel, topic, watermark) SELECT id, 7, 9 FROM channels;
INSERT INTO messages (channel, id, at, author, text) SELECT id, 1, clock_now(), 'é', E'two\nlines' FROM channels;
INSERT INTO attachments (channel, message, number, file, name, size, mime, kind)
SELECT id, 1, 1, 2, 'a.zip', 10, '', 'document' FROM channels;
UPDATE messages SET text = 'edited', words = '''edited'':1', extra = '{"é": 1}', files = '{2}';
UPDATE messages SET kind = 'poll', content = '{"via": "é"}', counts = '{"views": 1}', counted_at = clock_now(),
    raw = decode('00ff10', 'hex');
INSERT INTO people (platform, id, name, usernames, kind) VALUES ('telegram', 1, 'Ada', '{ada}', 'person');
INSERT INTO person_names SELECT platform, id, name, usernames, clock_now(), clock_now() FROM people;
UPDATE channels SET title = 'another title';
INSERT INTO guilds (platform, number, title) VALUES ('discord', 7, E'a\tserver');
INSERT INTO tokens (name, hash, scopes, channels) VALUES ('bot', 'h', '{read}', '{1}');
INSERT INTO passwords (hash) VALUES ('$argon2id$');
INSERT INTO sign_in_links (hash, until) VALUES ('h', clock_now());
INSERT INTO sessions (hash, until) VALUES ('h', clock_now());
INSERT INTO sign_in_tries (client) VALUES ('127.0.0.1');
INSERT INTO sign_in_clients (client) VALUES ('127.0.0.1');
INSERT INTO early_deletions (channel, message) SELECT id, 2 FROM channels;
INSERT INTO coverage (channel, kind, spans) SELECT id, 'documents', '{[0,5),[7,9)}' FROM channels;
INSERT INTO archives (channel, topic, kind, base, name, lost) SELECT id, 1, 'zip', 'a', 'a.zip', '{2,3}' FROM channels;
INSERT INTO archive_parts (archive, channel, message, file, number, name, size, at, seen_at, sender)
SELECT id, channel, 1, 2, 0, 'a.zip', 10, clock_now(), clock_now(), '' FROM archives;
INSERT INTO archive_contents (archive, number, path, size) SELECT id, 1, 'tower/gate.stl', 5 FROM archives;
INSERT INTO pictures (hash, mime, content) VALUES (decode('01', 'hex'), 'image/png', decode('89504e', 'hex'));
INSERT INTO previews (archive, message, picture) SELECT id, 1, decode('01', 'hex') FROM archives;
INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at)
SELECT id, channel, 1, 1, 'download', 1, clock_now() FROM archives;
INSERT INTO deliveries (archive, destination, number, source_message, source_file, name, first_byte, size, way, saved)
SELECT id, channel, 1, 1, 2, 'a.zip', 0, 10, 'upload', '{[0,1)}' FROM archives;
INSERT INTO media (sha256, size, mime) VALUES (decode('02', 'hex'), 3, 'image/png');
INSERT INTO media_pieces (sha256, number, content) VALUES (decode('02', 'hex'), 0, decode('89504e', 'hex'));
INSERT INTO uploads (account, sha256, kind, reference)
SELECT id, decode('02', 'hex'), 'picture', decode('00', 'hex') FROM accounts;
INSERT INTO upload_failures (account, sha256, kind, tries, cause, retry_at)
SELECT id, decode('02', 'hex'), 'picture', 1, 'é', clock_now() FROM accounts;
INSERT INTO message_counts (channel, topic, counter, told, upto) SELECT id, 0, 'messages', 5, 9 FROM channels;
INSERT INTO disk_pauses (account, machine, sentence, needed) SELECT id, 'here', 'é', 5 FROM accounts;
INSERT INTO reading_pauses (account, machine, sentence) SELECT id, 'here', 'é' FROM accounts;
INSERT INTO closed_destinations (account, channel, sentence, allowed, look_at)
SELECT a.id, c.id, 'é', true, clock_now() FROM accounts a, channels c;
INSERT INTO media_blobs (sha256, size, type) VALUES (decode(repeat('07', 32), 'hex'), 5, 'image/png');
INSERT INTO media_files (platform, file, kind, state, channel, message, size, sha256)
SELECT 'telegram', id, 'document', 'kept', id, 1, 5, decode(repeat('07', 32), 'hex') FROM channels;
INSERT INTO avatars (platform, owner, file, channel, message, handle) SELECT platform, id, 1, id, 1, 'x' FROM channels;
INSERT INTO media_blocks (sha256) VALUES (decode(repeat('08', 32), 'hex'));
INSERT INTO media_rules (channel, kind, action) SELECT id, 'video', 'no' FROM channels;
INSERT INTO media_plans (channel, revision, below) SELECT id, 1, 9 FROM channels;
INSERT INTO media_room (account, bytes) SELECT id, 5 FROM accounts;
INSERT INTO media_pauses (account, machine, sentence) SELECT id, 'here', 'é' FROM accounts;
INSERT INTO target_lists (name) VALUES ('all shops');
INSERT INTO target_list_members (list, channel) SELECT l.id, c.id FROM target_lists l, channels c;
INSERT INTO reminders (name, account, written, timezone, list)
SELECT 'reminder ' || a.id, a.id, '{"name": "é"}', 'UTC', l.id FROM accounts a, target_lists l;
INSERT INTO reminder_targets (reminder, number, named, channel)
SELECT r.id, c.id, 'é', c.id FROM reminders r, channels c;
INSERT INTO reminder_media (reminder, name, sha256) SELECT id, 'é.png', decode('02', 'hex') FROM reminders;
INSERT INTO runs (reminder, name, account, start_hour, end_hour, timezone, when_window_closes, when_unknown,
                  begun_target, state, paused_by, opens_at, closes_at)
SELECT id, name, account, 6, 18, 'UTC', 'stop', 'hold', 'finish', 'paused', 'person', clock_now(), clock_now()
FROM reminders;
INSERT INTO run_targets (run, number, channel, title)
SELECT r.id, 1, c.id, c.title FROM runs r, channels c WHERE c.number = 1;
INSERT INTO run_parts (run, target, number, kind, text, media, file_name)
SELECT id, 1, 1, 'picture', E'two\nlines', decode('02', 'hex'), 'é.png' FROM runs;
INSERT INTO cycles (account, number, whole, began_at, report) SELECT id, 1, true, clock_now(), '{}' FROM accounts;
INSERT INTO history_rounds (channel, below, ended_at, counter) SELECT id, 5, NULL, 7 FROM channels;
INSERT INTO verification_budgets (account, day, calls) SELECT id, '2026-01-01', 3 FROM accounts;
INSERT INTO storage_days (day, archives, archive_bytes, files, file_bytes) VALUES ('2026-01-01', 1, 2, 3, 4);
"""


async def fill(database: Database) -> None:
    await database.pool.execute(FILLED)
    for number in range(3):  # each in a transaction of its own
        await database.pool.execute("INSERT INTO events (kind, subject) VALUES ('test', $1)", str(number))


def silent(line: str) -> None:
    """Takes progress and shows none."""
