"""The queue of sets to be filed: taken, hashed, checked for duplicates, and marked as filed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg

from tidegate.archives.queries import deliveries, indexing_queue
from tidegate.archives.queries.indexing_queue import TakenArchivePart, TakenSet
from tidegate.archives.rules.delivery_plan import (
    SMALL_AT_MOST,
    SMALL_PARTS,
    PlannedMessage,
)
from tidegate.archives.rules.duplicates import FilingDecision, SameContentSet, content_of, weigh
from tidegate.archives.rules.file_names import ArchiveKind, position
from tidegate.core.ids import AccountId, ArchiveId, ChannelId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.events.kinds.archives import ArchiveFiled
from tidegate.events.queries import feed

_CONTENTS = 0x7467_636F  # "tgco": locks a destination or a content, so that two equal sets see each other


@dataclass(frozen=True, slots=True)
class Destination:
    """The channel a set is filed to. *may_post* is None when the account does not see the channel at all."""

    key: ChannelKey
    channel: ChannelId
    title: str
    may_post: bool | None


@dataclass(frozen=True, slots=True)
class SetToFile:
    """A set to be filed, and what the operator wants done with those of its channel, which may be *protected*."""

    taken: TakenSet
    hashed: bool
    protected: bool
    destination: Destination | None


@dataclass(frozen=True, slots=True)
class DiskRoom:
    """How much may be written to the disk: *free* bytes, which may be below zero, beside those *held* of each set.

    What is held of sets that no worker works on counts as free for the others: it can be fetched again.
    """

    free: int
    held: Mapping[ArchiveId, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sets may be taken: *large* ones or the others, but none that were *had*, nor of some channels."""

    large: bool
    small_at_most: int = SMALL_AT_MOST
    had: Collection[ArchiveId] = ()
    without: Collection[ChannelId] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a set's channel now; *destination* is our number of it."""

    enabled: bool
    hashed: bool
    destination: ChannelKey | None


PROTECTED = "(c.protected OR coalesce(c.copy_refused_at > clock_now() - interval '7 days', false))"
"""Whether files of a channel ``c`` cannot be copied, by its own setting or because the platform refused recently."""

TO_MOVE = f"""
    SELECT count(*) AS parts, coalesce(max(p.size) FILTER (WHERE moved.here), 0) AS largest,
        coalesce(sum(p.size) FILTER (WHERE moved.here), 0)::bigint AS size
    FROM archive_parts p,
        LATERAL (SELECT c.hashed AND p.sha256 IS NULL OR c.destination IS NOT NULL AND (
            {PROTECTED}
            OR EXISTS (SELECT FROM archive_parts q WHERE q.archive = a.id AND NOT q.spare AND q.protected)
        ) AS here) AS moved
    WHERE p.archive = a.id AND NOT p.spare
"""
"""Of a set ``a`` in a channel ``c``: how many parts it has, and the size of those that have to be brought here."""

_WAITING = f"""
    FROM archives a
    JOIN channels c ON c.id = a.channel
    CROSS JOIN LATERAL ({TO_MOVE}) AS moved
    LEFT JOIN unnest($2::bigint[], $3::bigint[]) AS held (archive, size) ON held.archive = a.id
    CROSS JOIN (
        SELECT coalesce(sum(h.size), 0)::bigint AS held,
            coalesce(sum(h.size) FILTER (WHERE b.id IS NULL), 0)::bigint AS idle
        FROM unnest($2::bigint[], $3::bigint[]) AS h (archive, size)
        LEFT JOIN archives b ON b.id = h.archive AND b.state = 'working'
    ) AS disk
    WHERE c.reader = $1 AND c.enabled AND a.state = 'waiting' AND a.indexed_at IS NOT NULL AND moved.parts > 0
      AND NOT EXISTS (
          SELECT FROM closed_destinations d WHERE d.account = $1 AND d.channel = c.destination AND NOT d.trying
      )
"""
_LACKING = "(moved.largest - least(coalesce(held.size, 0), moved.largest))"
_FITS = f"({_LACKING} = 0 OR {_LACKING} <= $4::bigint + disk.idle - coalesce(held.size, 0))"
_WILL_FIT = f"({_LACKING} = 0 OR {_LACKING} <= $4::bigint + disk.held - coalesce(held.size, 0))"


async def take(connection: Connection, account: AccountId, room: DiskRoom, choice: Choice) -> SetToFile | None:
    """Take the first waiting set of a *choice* in the account's enabled channels whose contents are known.

    Left out are those that need more disk space than there is, and those whose destination is closed.
    """
    row = await connection.fetchrow(
        f"""
        WITH next AS MATERIALIZED (
            SELECT a.id, c.number, c.hashed, {PROTECTED} AS protected, c.destination
            {_WAITING} AND {_FITS} AND (moved.size > $5 OR moved.parts > $6) = $7
              AND a.id <> ALL($8) AND c.number <> ALL($9)
            ORDER BY a.id LIMIT 1
            FOR UPDATE OF a SKIP LOCKED
        ), taken AS (
            UPDATE archives w SET state = 'working'
            FROM next
            WHERE w.id = next.id AND w.state = 'waiting'
            RETURNING w.id, w.name, w.kind, next.number, true AS delivered_too, next.hashed, next.protected,
                next.destination
        )
        SELECT taken.*, d.number AS destination_number, d.title AS destination_title, s.may_post
        FROM taken LEFT JOIN channels d ON d.id = taken.destination
            LEFT JOIN sights s ON s.channel = d.id AND s.account = $1
        """,
        account, list(room.held), list(room.held.values()), room.free, choice.small_at_most, SMALL_PARTS, choice.large,
        list(choice.had), list(choice.without),
    )  # fmt: skip
    if row is None:
        return None
    taken = await indexing_queue.taken_of(connection, row, account)
    destination = None
    if row["destination"] is not None:
        channel = ChannelId(row["destination_number"])
        destination = Destination(ChannelKey(row["destination"]), channel, row["destination_title"], row["may_post"])
    return SetToFile(taken, row["hashed"], row["protected"], destination)


async def put_back(connection: Connection, account: AccountId, *, but: Collection[int] = ()) -> int:
    """Let the sets that an earlier owner of the account left unfinished wait again; returns how many.

    *but* are those that the caller works on now.
    """
    rows = await connection.fetch(
        """
        UPDATE archives a SET state = 'waiting'
        FROM channels c
        WHERE c.id = a.channel AND c.reader = $1 AND a.state = 'working' AND a.indexed_at IS NOT NULL
          AND a.id <> ALL($2)
        RETURNING a.id
        """,
        account, list(but),
    )  # fmt: skip
    return len(rows)


async def room_lacking(connection: Connection, account: AccountId, room: DiskRoom) -> tuple[int | None, bool]:
    """How much space the smallest set needs that other work will not free; None when there is no such set.

    Also whether any set waits for space at all, if only for what running work holds.
    """
    row = await connection.fetchrow(
        f"SELECT min({_LACKING}) FILTER (WHERE NOT {_WILL_FIT}) AS least, count(*) > 0 AS waits "
        f"{_WAITING} AND NOT {_FITS}",
        account, list(room.held), list(room.held.values()), room.free,
    )  # fmt: skip
    assert row is not None
    return row["least"], row["waits"]


async def lock_idle(connection: Connection, archives: Collection[ArchiveId]) -> set[ArchiveId]:
    """Those of some sets that no worker works on, locked until the end of the transaction."""
    rows = await connection.fetch(
        "SELECT id FROM archives WHERE id = ANY($1) AND state <> 'working' ORDER BY id FOR UPDATE SKIP LOCKED",
        list(archives),
    )
    return {ArchiveId(row["id"]) for row in rows}


async def wish(connection: Connection, archive: ArchiveId, account: AccountId) -> Wish:
    """What is wanted now of the channel of a set that *account* works on."""
    row = await connection.fetchrow(
        """
        SELECT c.enabled AND c.reader IS NOT DISTINCT FROM $2 AS enabled, c.hashed, c.destination
        FROM archives a JOIN channels c ON c.id = a.channel WHERE a.id = $1
        """,
        archive, account,
    )  # fmt: skip
    return Wish(enabled=False, hashed=False, destination=None) if row is None else Wish(**dict(row))


async def leave(connection: Connection, archive: ArchiveId) -> None:
    """Let a set wait for a later batch."""
    await connection.execute("UPDATE archives SET state = 'waiting' WHERE id = $1 AND state = 'working'", archive)


async def unfinished(connection: Connection) -> set[ArchiveId]:
    """The sets that are being worked on or will be, whose files on disk are therefore still needed."""
    rows = await connection.fetch(
        "SELECT a.id FROM archives a JOIN channels c ON c.id = a.channel "
        "WHERE a.state IN ('waiting', 'working', 'failed') AND c.enabled"
    )
    return {ArchiveId(row["id"]) for row in rows}


async def keep_digest(connection: Connection, archive: ArchiveId, part: TakenArchivePart, digest: bytes) -> None:
    """Store the SHA-256 of a part."""
    await connection.execute(
        "UPDATE archive_parts SET sha256 = $4 WHERE archive = $1 AND message = $2 AND file = $3",
        archive, part.message, part.file, digest,
    )  # fmt: skip


async def protect(connection: Connection, archive: ArchiveId, *, whole_channel: bool) -> None:
    """The platform refused to copy a set: it is not asked again for it, nor for a while for any set of its channel."""
    await connection.execute("UPDATE archive_parts SET protected = true WHERE archive = $1", archive)
    if whole_channel:
        await connection.execute(
            """
            UPDATE channels SET copy_refused_at = clock_now()
            WHERE id = (SELECT channel FROM archives WHERE id = $1)
            """,
            archive,
        )


async def goes_round(connection: Connection, source: ChannelKey, destination: ChannelKey) -> bool:
    """Whether archives filed from *source* to *destination* would be filed further until they are back in *source*."""
    found: bool = await connection.fetchval(
        """
        WITH RECURSIVE way AS (
            SELECT $2::bigint AS channel
            UNION
            SELECT c.destination FROM channels c JOIN way ON c.id = way.channel
            WHERE c.enabled AND c.destination IS NOT NULL
        )
        SELECT $1 IN (SELECT channel FROM way)
        """,
        source, destination,
    )  # fmt: skip
    return found


# Whether it is there already


async def claim(
    connection: Connection, one: SetToFile, digests: Sequence[bytes], planned: Sequence[PlannedMessage]
) -> tuple[FilingDecision, ArchiveId | None]:
    """Freeze a set's manifest in its destination, unless the same content is there or on its way (S-82, S-83).

    *digests* are those of the first parts so far; without any the set counts as new. The manifest itself is the claim:
    a set with the same first part that comes later finds it, also when both come at once.
    """
    assert one.destination is not None
    archive, destination = one.taken.archive, one.destination.key
    await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", _CONTENTS, destination & 0x7FFF_FFFF)
    answer: tuple[FilingDecision, ArchiveId | None] = (FilingDecision.DELIVER, None)
    before = await deliveries.of_archive(connection, archive, destination)
    if digests and not before:
        content = content_of(digests) if len(digests) == len(one.taken.parts) else None
        answer = weigh(content, await _rivals(connection, one, digests[0]))
    if answer[0] is FilingDecision.DELIVER:
        await deliveries.freeze(connection, archive, destination, planned, before)
    return answer


async def _rivals(connection: Connection, one: SetToFile, first: bytes) -> list[SameContentSet]:
    """The other sets with a manifest in the destination that begin with the same part and have the same sizes."""
    assert one.destination is not None
    rows = await connection.fetch(
        """
        SELECT a.id, a.state, a.kind, p.number, p.size, p.sha256
        FROM archives a JOIN archive_parts p ON p.archive = a.id AND NOT p.spare
        WHERE a.id IN (SELECT archive FROM archive_parts WHERE sha256 = $3) AND a.id <> $1
          AND EXISTS (SELECT FROM deliveries d WHERE d.archive = a.id AND d.destination = $2)
        """,
        one.taken.archive, one.destination.key, first,
    )  # fmt: skip
    sizes = [part.size for part in one.taken.parts]
    by_archive: dict[ArchiveId, list[asyncpg.Record]] = {}
    for row in rows:
        by_archive.setdefault(row["id"], []).append(row)
    ordered = [
        sorted(parts, key=lambda row: position(ArchiveKind(row["kind"]), row["number"]))
        for parts in by_archive.values()
    ]
    return [
        _rival(parts) for parts in ordered if parts[0]["sha256"] == first and [part["size"] for part in parts] == sizes
    ]


def _rival(parts: Sequence[asyncpg.Record]) -> SameContentSet:
    digests = [part["sha256"] for part in parts]
    known = all(digest is not None for digest in digests)
    state = parts[0]["state"]
    return SameContentSet(
        archive=parts[0]["id"],
        content=content_of(digests) if known else None,
        delivered=state == "filed",
        coming=state in ("waiting", "working", "failed"),
    )


# Filed


async def finish(
    connection: Connection, one: SetToFile, digests: Sequence[bytes] | None, duplicate_of: ArchiveId | None = None
) -> ArchiveId | None:
    """The set has reached its destination; returns what it is a duplicate of.

    *digests* are those of all its parts, or None when it was not read. An archive with the same content that was filed
    before is named as its original, in whatever destination.
    """
    content = None if digests is None else content_of(digests)
    if content is not None and duplicate_of is None:
        duplicate_of = await _same_content(connection, one.taken.archive, content)
    row = await connection.fetchrow(
        """
        UPDATE archives
        SET state = 'filed', filed_at = clock_now(), content = $2, duplicate_of = $3,
            flags = array_remove(flags, 'duplicate') || $4::text[]
        WHERE id = $1 AND state = 'working'
        RETURNING flags
        """,
        one.taken.archive, content, duplicate_of, [] if duplicate_of is None else ["duplicate"],
    )  # fmt: skip
    if row is not None:
        await connection.execute("DELETE FROM failures WHERE archive = $1", one.taken.archive)
        destination = one.destination
        posted = await connection.fetch(
            "SELECT message FROM deliveries WHERE archive = $1 AND destination = $2 ORDER BY number",
            one.taken.archive, destination and destination.key,
        )  # fmt: skip
        filed = ArchiveFiled(
            archive=one.taken.archive,
            channel=one.taken.channel,
            flags=row["flags"],
            duplicate_of=duplicate_of,
            destination=None if destination is None else destination.channel,
            messages=None if destination is None else [found["message"] for found in posted if found["message"]],
        )
        await feed.record(connection, one.taken.name, filed)
    return duplicate_of


async def _same_content(connection: Connection, archive: ArchiveId, content: bytes) -> ArchiveId | None:
    # Two sets with the same content that end at the same moment would each find the other unfinished.
    await connection.execute(
        "SELECT pg_advisory_xact_lock($1, $2)", _CONTENTS, -1 - int.from_bytes(content[:3], "little")
    )
    found: ArchiveId | None = await connection.fetchval(
        "SELECT min(id) FROM archives WHERE content = $1 AND id <> $2 AND state = 'filed' AND duplicate_of IS NULL",
        content, archive,
    )  # fmt: skip
    return found
