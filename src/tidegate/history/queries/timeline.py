"""A channel's messages as people read them: in both directions, from a date on, with earlier texts and tombstones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Any

import asyncpg

from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AlbumId, ChannelId, ChannelKey, MessageId, TopicId, UserId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.history.content_documents import StoredContent, stored_content
from tidegate.history.content_json import answered_channel, read_mentions
from tidegate.history.rules.message_links import original_link
from tidegate.media.rules.media_policy import sentence_of

_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """The text of a message before an edit."""

    text: str
    written_at: datetime
    replaced_at: datetime  # when the edit was made


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file of a message, and what became of its bytes."""

    name: str
    size: int
    mime: str
    kind: str
    form: str  # what it is to the reader, such as an image; empty where it is not known
    role: str = "own"  # where in the message it is
    state: str = "skipped"
    reason: str | None = None  # why its bytes are not kept
    sha256: str | None = None  # in hexadecimal
    url: str | None = None  # where its bytes can be read
    number: int = 0  # its place in the message, from 1 on
    type: str | None = None  # what it is by its content
    thumbnail: str | None = None  # where a small picture of it is


@dataclass(frozen=True, slots=True)
class AnsweredText:
    """The beginning of the message that another one answers, as it is stored."""

    author: str
    text: str
    kind: str
    deleted: bool
    mentions: Mapping[str, str]  # names by how the text writes them


@dataclass(frozen=True, slots=True)
class LinkedChannel:
    """Another channel that a message leads to."""

    number: ChannelId
    key: ChannelKey | None  # none where it is not known here
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineMessage:
    """A message, what it answers, its earlier texts and whether it still exists.

    *revisions* is how many earlier texts are stored, which may be more than *earlier* has.
    *reply_place* is the other channel that it answers a message of.
    """

    id: MessageId
    at: datetime
    author: str
    author_id: UserId | None
    text: str
    service: str
    topic: TopicId | None
    topic_title: str
    reply_to: MessageId | None
    answered: AnsweredText | None
    album: AlbumId | None
    thread: LinkedChannel | None
    reply_place: LinkedChannel | None
    reactions: dict[str, int]
    edited_at: datetime | None
    deleted_at: datetime | None
    stored: StoredContent
    files: list[AttachedFile]
    earlier: list[EarlierVersion]
    revisions: int
    link: str | None
    erased_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Messages of a channel, oldest first, and whether there are others on either side of them."""

    messages: list[TimelineMessage]
    has_older: bool
    has_newer: bool


ANSWERED = 300
"""How many characters of an answered message are read."""

_MESSAGES = f"""
    SELECT m.id, m.at, m.author, m.author_id, m.automatic, m.text, m.service, m.topic, m.reply_to, m.edited_at,
        m.deleted_at, m.erased_at, m.reactions, m.kind, m.content, m.counts, m.counted_at, m.album, m.thread,
        p.kind AS person_kind, $5::boolean AS with_raw, CASE WHEN $5 THEN m.raw END AS raw,
        CASE WHEN $5 THEN m.extra END AS extra,
        a.id AS answered, a.author AS answered_author, left(a.text, {ANSWERED}) AS answered_text,
        a.kind AS answered_kind, a.deleted_at IS NOT NULL AS answered_deleted,
        a.content -> 'mentions' AS answered_mentions,
        (SELECT count(*) FROM message_revisions r WHERE r.channel = m.channel AND r.message = m.id) AS revisions
    FROM messages m
    LEFT JOIN messages a ON a.channel = m.channel AND a.id = m.reply_to
    LEFT JOIN people p ON p.platform = $4 AND p.id = m.author_id
    WHERE m.channel = $1 AND m.id {{past}} ORDER BY m.id {{way}} LIMIT $3
"""
_BEFORE = _MESSAGES.format(past="< $2", way="DESC")
_SINCE = _MESSAGES.format(past=">= $2", way="ASC")
_ONE = _MESSAGES.format(past="= $2", way="ASC")
_SEVERAL = _MESSAGES.format(past="= ANY($2)", way="ASC")


EARLIER_OF_EACH = 10
EARLIER_OF_ONE = 1_000
"""Maximum number of earlier texts shown of each message of a range, and of a single message: the newest of them."""


@dataclass(frozen=True, slots=True)
class TimelineBounds:
    """How much is read: at most *most* messages, with what the platform sent (*raw*) or without.

    With *whole_albums* a page ends before an album that does not fit on it as a whole. It has the rest of the album
    where up to *spare* messages more may be shown.
    """

    most: int
    raw: bool = False
    whole_albums: bool = False
    spare: int = 0

    @property
    def read(self) -> int:
        """How many messages are read, to know whether there are others."""
        return self.most + self.spare + 1


async def before(connection: Connection, kept: KnownChannel, number: int | None, bounds: TimelineBounds) -> Timeline:
    """The messages before a number, or the newest."""
    rows = await connection.fetch(
        _BEFORE, kept.key, _LAST if number is None else number, bounds.read, kept.platform, bounds.raw
    )
    newer = number is not None and await _is_any(connection, kept.key, ">=", number)
    shown = _page(rows, bounds)
    return Timeline(await _written(connection, kept, shown[::-1]), len(rows) > len(shown), newer)


async def since(connection: Connection, kept: KnownChannel, number: int, bounds: TimelineBounds) -> Timeline:
    """The messages from a number on, it included."""
    rows = await connection.fetch(_SINCE, kept.key, number, bounds.read, kept.platform, bounds.raw)
    older = await _is_any(connection, kept.key, "<", number)
    shown = _page(rows, bounds)
    return Timeline(await _written(connection, kept, shown), older, len(rows) > len(shown))


async def around(connection: Connection, kept: KnownChannel, number: MessageId, bounds: TimelineBounds) -> Timeline:
    """A message with as many before it as after it; at either end of the channel fewer."""
    earlier = await before(connection, kept, number, bounds)
    later = await since(connection, kept, number, replace(bounds, most=bounds.most + 1))
    return Timeline([*earlier.messages, *later.messages], earlier.has_older, later.has_newer)


def _page(rows: Sequence[asyncpg.Record], bounds: TimelineBounds) -> list[asyncpg.Record]:
    """The rows that are shown of those read, of which one is more than fits."""
    shown, further = list(rows[: bounds.most]), rows[bounds.most : bounds.most + bounds.spare]
    cut = rows[bounds.most]["album"] if len(rows) > bounds.most else None
    if not bounds.whole_albums or cut is None:
        return shown
    if bounds.spare and shown and shown[-1]["album"] == cut:
        return [*shown, *takewhile(lambda row: row["album"] == cut, further)]
    whole = [row for row in shown if row["album"] != cut]
    return whole or shown


async def one(
    connection: Connection, kept: KnownChannel, number: MessageId, *, raw: bool = False
) -> TimelineMessage | None:
    """A single message; None when it is not stored."""
    rows = await connection.fetch(_ONE, kept.key, number, 1, kept.platform, raw)
    found = await _written(connection, kept, rows, earlier=EARLIER_OF_ONE)
    return found[0] if found else None


async def several(connection: Connection, kept: KnownChannel, numbers: Collection[MessageId]) -> list[TimelineMessage]:
    """These messages, oldest first; those that are not stored are left out."""
    rows = await connection.fetch(_SEVERAL, kept.key, list(numbers), len(numbers), kept.platform, False)  # noqa: FBT003
    return await _written(connection, kept, rows)


async def first_at(connection: Connection, key: ChannelKey, at: datetime) -> MessageId:
    """The number from which on messages are as late as *at*: the first of them, or beyond the last.

    Numbers grow with time, so a binary search over the key finds it in some sixty steps, however many messages there
    are.
    """
    low, high = 0, _LAST
    while low < high:
        middle = (low + high) // 2
        row = await connection.fetchrow(
            "SELECT id, at FROM messages WHERE channel = $1 AND id >= $2 ORDER BY id LIMIT 1", key, middle
        )
        if row is None or row["at"] >= at:
            high = middle
        else:
            low = row["id"] + 1
    return MessageId(low)


async def newest_at(connection: Connection, key: ChannelKey) -> datetime | None:
    """When the newest stored message of a channel was written."""
    at: datetime | None = await connection.fetchval(
        "SELECT at FROM messages WHERE channel = $1 ORDER BY id DESC LIMIT 1", key
    )
    return at


async def _is_any(connection: Connection, key: ChannelKey, past: str, number: int) -> bool:
    found: bool = await connection.fetchval(
        f"SELECT EXISTS (SELECT FROM messages WHERE channel = $1 AND id {past} $2)", key, number
    )
    return found


async def _written(
    connection: Connection, kept: KnownChannel, rows: Collection[asyncpg.Record], *, earlier: int = EARLIER_OF_EACH
) -> list[TimelineMessage]:
    texts = await connection.fetch(
        """
        SELECT r.message, r.text, r.written_at, r.replaced_at
        FROM unnest($2::bigint[]) AS asked (message) CROSS JOIN LATERAL (
            SELECT * FROM message_revisions r
            WHERE r.channel = $1 AND r.message = asked.message ORDER BY r.number DESC LIMIT $3
        ) AS r
        ORDER BY r.message, r.number
        """,
        kept.key, [row["id"] for row in rows if row["revisions"]], earlier,
    )  # fmt: skip
    beside = _Beside(
        await files_of(connection, kept.key, [row["id"] for row in rows]),
        _by_message(texts),
        await _topic_titles(connection, kept, {row["topic"] for row in rows} - {None}),
        await _linked(connection, kept, _linked_numbers(rows)),
    )
    link = partial(original_link, kept.platform, kept.number, guild=kept.guild)
    return [_message(row, beside, link(row["id"], topic=row["topic"])) for row in rows]


@dataclass(frozen=True, slots=True)
class _Beside:
    """What other tables hold about messages, by their numbers; the last two by topic and by channel."""

    files: Mapping[MessageId, Sequence[AttachedFile]]
    texts: Mapping[MessageId, Sequence[tuple[Any, ...]]]
    topics: Mapping[TopicId, str]
    linked: Mapping[ChannelId, LinkedChannel]


def _message(row: asyncpg.Record, beside: _Beside, link: str | None) -> TimelineMessage:
    answered = None if row["answered"] is None else _answered(row)
    stored = stored_content(row, answered=None if answered is None else answered.author)
    reply = stored.content.reply
    return TimelineMessage(
        **{name: row[name] for name in _PLAIN_COLUMNS},
        topic_title=beside.topics.get(row["topic"], ""),
        answered=answered,
        thread=beside.linked.get(row["thread"]),
        reply_place=None if reply is None or reply.channel is None else beside.linked.get(reply.channel),
        stored=stored,
        files=list(beside.files.get(row["id"], ())),
        earlier=[EarlierVersion(*text) for text in beside.texts.get(row["id"], ())],
        link=link,
    )


def _answered(row: asyncpg.Record) -> AnsweredText:
    return AnsweredText(
        author=row["answered_author"],
        text=row["answered_text"],
        kind=row["answered_kind"],
        deleted=row["answered_deleted"],
        mentions=read_mentions(row["answered_mentions"]),
    )


_PLAIN_COLUMNS = (
    "id", "at", "author", "author_id", "text", "service", "topic", "reply_to", "album", "reactions", "edited_at",
    "deleted_at", "erased_at", "revisions",
)  # fmt: skip


async def _topic_titles(connection: Connection, kept: KnownChannel, topics: Collection[TopicId]) -> dict[TopicId, str]:
    """What topics are called; a channel that is no forum has none."""
    if not topics or not kept.forum:
        return {}
    rows = await connection.fetch(
        "SELECT topic, title FROM places WHERE channel = $1 AND topic = ANY($2)", kept.key, list(topics)
    )
    return {row["topic"]: row["title"] or "" for row in rows}


def _linked_numbers(rows: Iterable[asyncpg.Record]) -> set[ChannelId]:
    """The channels that messages lead to: their threads, and those of messages that they answer elsewhere."""
    threads = {row["thread"] for row in rows if row["thread"] is not None}
    replies = (answered_channel(row["content"]) for row in rows)
    return threads | {number for number in replies if number is not None}


async def _linked(
    connection: Connection, kept: KnownChannel, numbers: Collection[ChannelId]
) -> dict[ChannelId, LinkedChannel]:
    """Channels of the same platform by their numbers; one that is not known here has no title."""
    if not numbers:
        return {}
    rows = await connection.fetch(
        "SELECT number, id, title FROM channels WHERE platform = $1 AND number = ANY($2)", kept.platform, list(numbers)
    )
    known = {row["number"]: LinkedChannel(row["number"], ChannelKey(row["id"]), row["title"]) for row in rows}
    return {number: known.get(number, LinkedChannel(number, None, "")) for number in numbers}


async def files_of(
    connection: Connection, key: ChannelKey, numbers: Collection[MessageId]
) -> dict[MessageId, list[AttachedFile]]:
    """The files of messages, in their order; a message without files is left out."""
    rows = await connection.fetch(
        """
        SELECT a.message, a.name, a.size, a.mime, a.kind, a.form, a.role, coalesce(f.state, 'skipped') AS state,
            coalesce(f.reason, CASE WHEN s.enabled THEN 'undecided' ELSE 'off' END) AS reason,
            encode(f.sha256, 'hex') AS sha256, a.number, nullif(f.type, '') AS type, c.number AS channel,
            f.thumbnail IS NOT NULL AS pictured, m.deleted_at IS NOT NULL AS deleted
        FROM attachments a
        JOIN messages m ON m.channel = a.channel AND m.id = a.message
        JOIN channels c ON c.id = a.channel
        LEFT JOIN media_state s ON true
        LEFT JOIN media_files f ON f.platform = c.platform AND f.file = a.file
        WHERE a.channel = $1 AND a.message = ANY($2) ORDER BY a.message, a.number
        """,
        key, list(numbers),
    )  # fmt: skip
    found: dict[MessageId, list[AttachedFile]] = defaultdict(list)
    for row in rows:
        found[MessageId(row["message"])].append(_attached(row))
    return dict(found)


def _attached(row: asyncpg.Record) -> AttachedFile:
    """A file of a row; of a deleted message it has to be asked for as such."""
    address = f"/api/channels/{row['channel']}/messages/{row['message']}/files/{row['number']}"
    query = "?deleted=true" if row["deleted"] else ""
    return from_row(
        AttachedFile,
        row,
        reason=sentence_of(row["reason"]) or None,
        url=f"{address}{query}" if row["state"] == "kept" else None,
        thumbnail=f"{address}/thumbnail{query}" if row["pictured"] else None,
    )


def _by_message(rows: Iterable[asyncpg.Record]) -> dict[MessageId, list[tuple[Any, ...]]]:
    """The other values of rows, by the message they belong to."""
    found: dict[MessageId, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        message, *others = row.values()
        found[message].append(tuple(others))
    return found
