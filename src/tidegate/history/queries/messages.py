"""Messages of mirrored channels, each stored once; a deleted one stays, with the instant it was noticed.

Earlier texts of an edited message are kept as revisions by the database itself, whatever changes the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.core.ids import ChannelKey, MessageId
from tidegate.core.message_content import NO_COUNTS, PLAIN, PersonKind
from tidegate.core.rules.storable_text import ORIGINALS, is_storable, originals, storable
from tidegate.database.notifier import mark_messages
from tidegate.database.pool import Connection
from tidegate.database.storable_connection import json_text
from tidegate.history.content_json import content_json, counts_json, read_mentions
from tidegate.history.raw_json import pack
from tidegate.people.queries import people
from tidegate.platforms.interface import FileRole, Message
from tidegate.search.rules.searchable_content import content_tags, content_texts
from tidegate.search.rules.tokenizer import author_tags, vector

_ONE_AT_A_TIME = 0x7467_6D73  # "tgms": a message and its deletion at the same time would both be stored


@dataclass(frozen=True, slots=True)
class StoredPage:
    """Which messages of a page were new to us, and which of the known ones had changed or came back.

    Neither names one that was deleted before it came, which is stored as deleted.
    """

    added: frozenset[MessageId] = frozenset()
    changed: frozenset[MessageId] = frozenset()
    completed: frozenset[MessageId] = frozenset()  # unchanged ones whose further files were not stored yet

    def __or__(self, later: StoredPage) -> StoredPage:
        return StoredPage(self.added | later.added, self.changed | later.changed, self.completed | later.completed)


# Only what changed is written: pages overlap, and writing an unchanged row costs as much as a new one. A blank version
# without an edit is one that the account may not see, and changes nothing. One of another kind, such as a poll, is not
# blank: two edits can have the same second. A deletion is undone only by a page that was requested after it ($22),
# never by a push update, and not where the message has expired since. An erased one stays so.
#
# A new edit time alone is no edit: platforms also send one with a reaction. Numbers change without an edit and by their
# own time; those that are not mentioned stay.
#
# The later version wins. One that was changed in secret has no edit time to show, and is later all the same: its own
# time is stored beside. A page that shows an older version is believed only if it was requested after that was seen.
_NEWER = "(m.counted_at IS NULL OR m.counted_at <= coalesce($22, clock_now()))"
_COUNTED = "(m.reactions <> excluded.reactions OR NOT coalesce(m.counts, '{}') @> coalesce(excluded.counts, '{}'))"
_CHANGED = """(m.text, m.kind, m.content, m.files, m.raw) IS DISTINCT FROM
              (excluded.text, excluded.kind, excluded.content, excluded.files, excluded.raw)"""
_VERSION = "coalesce(excluded.edited_at, excluded.hidden_edit_at)"
_UPSERT = f"""
    INSERT INTO messages AS m (channel, id, topic, at, author, author_id, automatic, service, text, reply_to, album,
                               thread, edited_at, reactions, files, words, kind, content, counts, raw, hidden_edit_at,
                               hidden_seen_at, counted_at, deleted_at)
    SELECT $1, g.id, g.topic, g.at, g.author, g.author_id, g.automatic, g.service, g.text, g.reply_to, g.album,
        g.thread, g.edited_at, g.reactions::jsonb, g.files::bigint[], g.words::tsvector, g.kind, g.content::jsonb,
        g.counts::jsonb, g.raw, g.hidden_edit_at,
        CASE WHEN g.hidden_edit_at IS NOT NULL THEN coalesce($22, clock_now()) END,
        CASE WHEN g.counts IS NOT NULL OR g.reactions <> '{{}}' THEN coalesce($22, clock_now()) END, d.deleted_at
    FROM unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[], $6::bigint[], $7::boolean[], $8::text[],
                $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::timestamptz[], $14::text[], $15::text[],
                $16::text[], $17::text[], $18::text[], $19::text[], $20::bytea[], $21::timestamptz[])
        AS g (id, topic, at, author, author_id, automatic, service, text, reply_to, album, thread, edited_at,
              reactions, files, words, kind, content, counts, raw, hidden_edit_at)
    LEFT JOIN early_deletions d
        ON d.channel = $1 AND d.message = g.id AND ($22::timestamptz IS NULL OR d.deleted_at >= $22)
    ORDER BY g.id
    ON CONFLICT (channel, id) DO UPDATE
    SET topic = excluded.topic, author = excluded.author, author_id = excluded.author_id,
        automatic = excluded.automatic, service = excluded.service, text = excluded.text,
        reply_to = excluded.reply_to, album = excluded.album, thread = excluded.thread, files = excluded.files,
        words = excluded.words, kind = excluded.kind, content = excluded.content, raw = excluded.raw, extra = NULL,
        edited_at = CASE WHEN {_CHANGED} THEN excluded.edited_at ELSE m.edited_at END,
        hidden_edit_at = CASE WHEN {_CHANGED} THEN excluded.hidden_edit_at ELSE m.hidden_edit_at END,
        hidden_seen_at = CASE WHEN {_CHANGED} THEN excluded.hidden_seen_at ELSE m.hidden_seen_at END,
        reactions = CASE WHEN {_NEWER} THEN excluded.reactions ELSE m.reactions END,
        counts = CASE WHEN {_NEWER} THEN coalesce(m.counts || excluded.counts, excluded.counts, m.counts)
                      ELSE m.counts END,
        counted_at = CASE WHEN {_NEWER} AND {_COUNTED} THEN coalesce($22, clock_now()) ELSE m.counted_at END,
        deleted_at = NULL
    WHERE m.erased_at IS NULL
      AND (m.deleted_at IS NULL
           OR m.deleted_at < $22
              AND coalesce((excluded.content ->> 'expires_at')::timestamptz > clock_now(), true))
      AND (m.deleted_at IS NOT NULL
           OR (m.topic, m.author, m.author_id, m.text, m.thread, m.kind, m.content, m.files, m.raw)
              IS DISTINCT FROM (excluded.topic, excluded.author, excluded.author_id, excluded.text, excluded.thread,
                                excluded.kind, excluded.content, excluded.files, excluded.raw)
           OR {_NEWER} AND {_COUNTED})
      AND (m.edited_at IS NULL OR m.edited_at <= {_VERSION})
      AND (m.hidden_edit_at IS NULL OR m.hidden_edit_at <= {_VERSION}
           OR m.hidden_seen_at < $22)
      AND NOT (excluded.text = '' AND excluded.files = '{{}}' AND (m.text <> '' OR m.files <> '{{}}')
               AND excluded.kind IN ('text', m.kind) AND m.edited_at IS NOT DISTINCT FROM excluded.edited_at)
    RETURNING id, xmax = 0 AS added, deleted_at IS NOT NULL AS deleted
"""


async def store(
    connection: Connection, key: ChannelKey, messages: Sequence[Message], *, asked_at: datetime | None = None
) -> StoredPage:
    """Store messages; the newest version of one wins, whichever page brings it, and the earlier text stays on record.

    *asked_at* is the database's time before the page was requested, or None for a push update.
    """
    await hold(connection, key)
    messages = await _with_known_mentions(connection, key, await _with_known_authors(connection, key, messages))
    stored = StoredPage()
    for versions in _rounds(messages):
        stored |= await _store(connection, key, versions, asked_at)
    return stored


def _rounds(messages: Iterable[Message]) -> list[list[Message]]:
    """Put versions of one message into separate batches, in order, so that each earlier one is kept as a revision."""
    rounds: list[list[Message]] = []
    seen: Counter[MessageId] = Counter()
    for message in messages:
        if seen[message.id] == len(rounds):
            rounds.append([])
        rounds[seen[message.id]].append(message)
        seen[message.id] += 1
    return rounds


async def _store(
    connection: Connection, key: ChannelKey, rows: Sequence[Message], asked_at: datetime | None
) -> StoredPage:
    # Most values of some columns are NULL. An empty array is as good, because unnest fills it up.
    columns = [() if values.count(None) == len(values) else values for values in _columns(rows)]
    written = await connection.fetch(_UPSERT, key, *columns, asked_at)
    completed = await _attach(connection, key, {row.id: row for row in rows}, written)
    mark_messages(connection, key, (row["id"] for row in written))
    added = frozenset(MessageId(row["id"]) for row in written if row["added"] and not row["deleted"])
    return StoredPage(added, frozenset(MessageId(row["id"]) for row in written if not row["added"]), completed)


def _columns(rows: Sequence[Message]) -> Iterable[Sequence[object]]:
    """What ``_UPSERT`` stores of messages, in the order of its parameters from $2 on."""
    contents = [None if row.content is PLAIN else content_json(row.content) or None for row in rows]
    return (
        [row.id for row in rows],
        [row.topic for row in rows],
        [row.at for row in rows],
        [row.author for row in rows],
        [row.author_id for row in rows],
        [row.automatic for row in rows],
        [row.service for row in rows],
        [row.text for row in rows],
        [row.reply_to for row in rows],
        [row.album for row in rows],
        [row.thread for row in rows],
        [row.edited_at for row in rows],
        [json_text({one.emoji: one.count for one in row.reactions}) if row.reactions else "{}" for row in rows],
        [f"{{{','.join(str(file.id) for file in row.files)}}}" if row.files else "{}" for row in rows],
        list(map(_words, rows, contents)),
        ["" if row.is_partial else row.kind for row in rows],
        [None if content is None else json_text(content) for content in contents],
        list(map(_counts, rows)),
        [pack(_raw(row)) for row in rows],
        [row.hidden_edit_at for row in rows],
    )


async def _attach(
    connection: Connection, key: ChannelKey, rows: Mapping[MessageId, Message], written: Sequence[asyncpg.Record]
) -> frozenset[MessageId]:
    """The files of what was written, in place of those it had.

    An earlier version stored only a message's own files. The others are added when an unchanged message is read again;
    returns those messages.
    """
    known = [row["id"] for row in written if not row["added"]]
    if known:
        await connection.execute("DELETE FROM attachments WHERE channel = $1 AND message = ANY($2)", key, known)
    new = {row["id"] for row in written}
    again = [one.id for one in rows.values() if one.further_files and one.id not in new]
    open_to_more = new | await _not_erased(connection, key, again) if again else new
    files = [
        (message.id, number, file)
        for message in rows.values()
        if message.id in open_to_more
        for number, file in enumerate((*message.files, *message.further_files), start=1)
        if message.id in new or file.role is not FileRole.OWN
    ]
    if not files:
        return frozenset()
    attached = await connection.fetch(
        """
        INSERT INTO attachments (channel, message, number, file, name, size, mime, kind, form, role)
        SELECT $1, g.* FROM unnest($2::bigint[], $3::integer[], $4::bigint[], $5::text[], $6::bigint[], $7::text[],
                                   $8::text[], $9::text[], $10::text[]) AS g (message)
        ON CONFLICT DO NOTHING
        RETURNING message
        """,
        key, [message for message, _, _ in files], [number for _, number, _ in files],
        [file.id for _, _, file in files], [file.name for _, _, file in files],
        [file.size for _, _, file in files], [file.mime for _, _, file in files],
        [file.kind.value for _, _, file in files], [file.form.value for _, _, file in files],
        [file.role.value for _, _, file in files],
    )  # fmt: skip
    return frozenset(MessageId(row["message"]) for row in attached) - new


async def _not_erased(connection: Connection, key: ChannelKey, numbers: Sequence[MessageId]) -> set[MessageId]:
    rows = await connection.fetch(
        "SELECT id FROM messages WHERE channel = $1 AND id = ANY($2) AND erased_at IS NULL", key, numbers
    )
    return {MessageId(row["id"]) for row in rows}


async def between(connection: Connection, key: ChannelKey, low: int, high: int) -> list[MessageId]:
    """The messages of a channel that are stored in a stretch, both ends included, and not marked as deleted."""
    rows = await connection.fetch(
        "SELECT id FROM messages WHERE channel = $1 AND id BETWEEN $2 AND $3 AND deleted_at IS NULL", key, low, high
    )
    return [MessageId(row["id"]) for row in rows]


async def above(connection: Connection, key: ChannelKey, number: int) -> list[MessageId]:
    """The messages of a channel that are stored above a number and not marked as deleted."""
    rows = await connection.fetch(
        "SELECT id FROM messages WHERE channel = $1 AND id > $2 AND deleted_at IS NULL", key, number
    )
    return [MessageId(row["id"]) for row in rows]


async def _with_known_authors(
    connection: Connection, key: ChannelKey, messages: Sequence[Message]
) -> Sequence[Message]:
    """The same messages; one that is stored keeps the author it is stored with, by the name of that time.

    Some answers do not say who wrote a message. Of a deleted account the platform no longer knows the name, and of a
    contact it gives only the account's label. A label gives way to the name.
    """
    messages = await _without_labels(connection, key, messages)
    rows = await connection.fetch(
        "SELECT id, author, author_id, kind FROM messages WHERE channel = $1 AND id = ANY($2) "
        "AND (author <> '' OR author_id IS NOT NULL)",
        key, [one.id for one in messages],
    )  # fmt: skip
    known = {row["id"]: row for row in rows}
    labels = await _labels(connection, key, messages, known)

    def named(message: Message) -> Message:
        row = known.get(message.id)
        if row is None or message.id in labels or message.author_id not in (None, row["author_id"]):
            return message
        is_same = row["author"] in ("", storable(message.author))
        return replace(message, author=message.author if is_same else row["author"], author_id=row["author_id"])

    return [named(message) for message in messages] if known else messages


async def _labels(
    connection: Connection, key: ChannelKey, messages: Sequence[Message], known: Mapping[MessageId, asyncpg.Record]
) -> frozenset[MessageId]:
    """The messages whose stored author is no name that the person ever had, but an account's label of them.

    What an earlier version stored says nothing: it stored no names of people.
    """
    other: dict[MessageId, str] = {}
    for message in messages:
        row, person = known.get(message.id), message.person
        if row is None or person is None or not row["kind"] or person.kind is PersonKind.DELETED:
            continue
        if message.author == person.name and row["author"] not in ("", storable(message.author)):
            other[message.id] = row["author"]
    persons = {one.id: one.person.id for one in messages if one.id in other and one.person is not None}
    names = await people.names_over_time(connection, key, set(persons.values())) if persons else {}
    return frozenset(one for one, person in persons.items() if person in names and other[one] not in names[person])


async def _without_labels(connection: Connection, key: ChannelKey, messages: Sequence[Message]) -> Sequence[Message]:
    """The same messages; an account's label of a contact gives way to the name that the contact is known by."""
    labelled = {one.person.id for one in messages if one.person is not None and one.person.is_label}
    names = await people.names_of(connection, key, labelled) if labelled else {}

    def named(message: Message) -> Message:
        person = message.person
        if person is None or person.id not in names or message.author != person.name:
            return message
        return replace(message, author=names[person.id])

    return [named(message) for message in messages] if names else messages


async def _with_known_mentions(
    connection: Connection, key: ChannelKey, messages: Sequence[Message]
) -> Sequence[Message]:
    """The same messages; those that a stored one mentions keep the names they had when it was written."""
    naming = [message.id for message in messages if message.content.mentions]
    if not naming:
        return messages
    rows = await connection.fetch(
        "SELECT id, content -> 'mentions' AS names FROM messages "
        "WHERE channel = $1 AND id = ANY($2) AND content ? 'mentions'",
        key, naming,
    )  # fmt: skip
    known = {row["id"]: read_mentions(row["names"]) for row in rows}

    def named(message: Message) -> Message:
        now = message.content.mentions
        if not now or message.id not in known:
            return message
        then = {mention: known[message.id].get(mention, name) for mention, name in now.items()}
        return replace(message, content=replace(message.content, mentions=then))

    return [named(message) for message in messages]


async def count(connection: Connection, key: ChannelKey, *, most: int | None = None) -> int:
    """How many messages of a channel are stored and not deleted; more than *most* are not counted.

    Two indexes answer this without the messages themselves, which are spread over the whole table.
    """
    all_: int = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM messages WHERE channel = $1 LIMIT $2) AS stored",
        key, None if most is None else most + 1,
    )  # fmt: skip
    if most is not None and all_ > most:
        return all_
    deleted: int = await connection.fetchval(
        "SELECT count(*) FROM messages WHERE channel = $1 AND deleted_at IS NOT NULL", key
    )
    return all_ - deleted


async def count_with(connection: Connection, key: ChannelKey, shown: Collection[MessageId]) -> int:
    """How many messages of a channel are stored, without the one that a thread began with, once *shown* are too."""
    number: int = await connection.fetchval(
        """
        SELECT count(*) FROM (
            SELECT id FROM messages WHERE channel = $1 AND deleted_at IS NULL
            UNION SELECT unnest($2::bigint[])
            EXCEPT SELECT number FROM channels WHERE id = $1
        ) AS known
        """,
        key, list(shown),
    )  # fmt: skip
    return number


async def hold(connection: Connection, key: ChannelKey) -> None:
    """One writer of a channel's messages at a time, until its transaction ends."""
    await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", _ONE_AT_A_TIME, key)


# Values that are stored in place of those received

_SHOWN = frozenset(
    {FileRole.FORWARD, FileRole.COMPONENT, FileRole.STICKER, FileRole.POLL, FileRole.STORY, FileRole.RICH}
)
"""Where a message shows files that its reader takes for its own: ``has:`` finds it by them."""


def _words(message: Message, content: Mapping[str, Any] | None) -> str:
    tags = author_tags(message.author, message.author_id)
    if not message.files and not content and not message.further_files:
        return vector([message.text], tags + content_tags(message.text, [], None) if "://" in message.text else tags)
    shown = [*message.files, *(file for file in message.further_files if file.role in _SHOWN)]
    tags += content_tags(message.text, [file.form.value for file in shown], content)
    return vector([message.text, *[file.name for file in message.files], *content_texts(content)], tags)


def _counts(message: Message) -> str | None:
    counts = None if message.counts is NO_COUNTS else counts_json(message.counts)
    return json_text(counts) if counts else None


def _raw(message: Message) -> Mapping[str, Any]:
    """What the platform sent, with the originals of texts that PostgreSQL cannot hold."""
    if is_storable("".join([message.text, message.author, *[file.name for file in message.files]])):
        return message.raw
    texts = {"author": message.author, "text": message.text}
    texts |= {f"file {number}": file.name for number, file in enumerate(message.files, start=1)}
    kept = originals(texts)
    return {**message.raw, ORIGINALS: kept} if kept else message.raw
