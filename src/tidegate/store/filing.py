"""Sets on their way to a destination: taken, hashed, compared with others, and filed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from tidegate.port import ChannelId
from tidegate.rules.filing import Decision, Planned, Rival, content_of, weigh
from tidegate.rules.naming import Kind, position
from tidegate.store import contents, deliveries, feed
from tidegate.store.contents import Taken, TakenPart
from tidegate.store.database import Connection
from tidegate.words import AccountId

_CONTENTS = 0x7467_636F  # "tgco": one set at a time says which content it has, for whom comes with the same


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a set is filed to. *may_post* is None when the account does not see the channel at all."""

    key: int
    channel: ChannelId
    title: str
    may_post: bool | None


@dataclass(frozen=True, slots=True)
class ToFile:
    """A set to be filed, and what the operator wants done with those of its channel, which may be *protected*."""

    taken: Taken
    hashed: bool
    protected: bool
    destination: Destination | None


async def take(connection: Connection, account: AccountId, after: int) -> ToFile | None:
    """The next set above *after* in the account's enabled channels that was read and waits, from now on in hand."""
    row = await connection.fetchrow(
        """
        UPDATE archives w SET state = 'working'
        FROM (
            SELECT a.id, c.number, c.hashed, c.protected, c.destination
            FROM archives a JOIN channels c ON c.id = a.channel
            WHERE c.reader = $1 AND c.enabled AND a.state = 'waiting' AND a.id > $2 AND a.indexed_at IS NOT NULL
              AND EXISTS (SELECT FROM archive_parts p WHERE p.archive = a.id AND NOT p.spare)
            ORDER BY a.id LIMIT 1
            FOR UPDATE OF a SKIP LOCKED
        ) AS next
        WHERE w.id = next.id
        RETURNING w.id, w.name, w.kind, next.number, true AS delivered_too, next.hashed, next.protected,
            next.destination
        """,
        account, after,
    )  # fmt: skip
    if row is None:
        return None
    taken = await contents.taken_of(connection, row, account)
    destination = await _destination(connection, row["destination"], account)
    return ToFile(taken, row["hashed"], row["protected"], destination)


async def _destination(connection: Connection, key: int | None, account: AccountId) -> Destination | None:
    row = await connection.fetchrow(
        """
        SELECT c.id, c.number, c.title, s.may_post
        FROM channels c LEFT JOIN sights s ON s.channel = c.id AND s.account = $2
        WHERE c.id = $1
        """,
        key, account,
    )  # fmt: skip
    return None if row is None else Destination(row["id"], ChannelId(row["number"]), row["title"], row["may_post"])


async def put_back(connection: Connection, account: AccountId) -> int:
    """Let the sets that an earlier owner of the account left on their way wait again; returns how many."""
    rows = await connection.fetch(
        """
        UPDATE archives a SET state = 'waiting'
        FROM channels c
        WHERE c.id = a.channel AND c.reader = $1 AND a.state = 'working' AND a.indexed_at IS NOT NULL
        RETURNING a.id
        """,
        account,
    )
    return len(rows)


async def leave(connection: Connection, archive: int) -> None:
    """Let a set wait for a later turn."""
    await connection.execute("UPDATE archives SET state = 'waiting' WHERE id = $1 AND state = 'working'", archive)


async def unfinished(connection: Connection) -> set[int]:
    """The sets that somebody works on or will go on with, whose files on disk are therefore still of use."""
    rows = await connection.fetch(
        "SELECT a.id FROM archives a JOIN channels c ON c.id = a.channel "
        "WHERE a.state IN ('waiting', 'working', 'failed') AND c.enabled"
    )
    return {row["id"] for row in rows}


async def keep_digest(connection: Connection, archive: int, part: TakenPart, digest: bytes) -> None:
    """Remember the SHA-256 of a part."""
    await connection.execute(
        "UPDATE archive_parts SET sha256 = $4 WHERE archive = $1 AND message = $2 AND file = $3",
        archive, part.message, part.file, digest,
    )  # fmt: skip


async def protect(connection: Connection, archive: int) -> None:
    """The platform would not copy a set: it is not asked to again."""
    await connection.execute("UPDATE archive_parts SET protected = true WHERE archive = $1", archive)


async def goes_round(connection: Connection, source: int, destination: int) -> bool:
    """Whether archives filed from *source* to *destination* would be filed on until they are back in *source*."""
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
    connection: Connection, one: ToFile, digests: Sequence[bytes], planned: Sequence[Planned]
) -> tuple[Decision, int | None]:
    """Freeze a set's manifest in its destination, unless the same content is there or on its way (S-82, S-83).

    *digests* are those of the first parts so far; without any the set is taken for no other. The manifest itself is
    the claim: whoever comes with the same first part later finds it, also when both come at once.
    """
    assert one.destination is not None
    archive, destination = one.taken.archive, one.destination.key
    await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", _CONTENTS, destination & 0x7FFF_FFFF)
    answer: tuple[Decision, int | None] = (Decision.DELIVER, None)
    if digests and not await deliveries.begun(connection, archive, destination):
        content = content_of(digests) if len(digests) == len(one.taken.parts) else None
        answer = weigh(content, await _rivals(connection, one, digests[0]))
    if answer[0] is Decision.DELIVER:
        await deliveries.freeze(connection, archive, destination, planned)
    return answer


async def _rivals(connection: Connection, one: ToFile, first: bytes) -> list[Rival]:
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
    by_archive: dict[int, list[asyncpg.Record]] = {}
    for row in rows:
        by_archive.setdefault(row["id"], []).append(row)
    ordered = [
        sorted(parts, key=lambda row: position(Kind(row["kind"]), row["number"])) for parts in by_archive.values()
    ]
    return [
        _rival(parts) for parts in ordered if parts[0]["sha256"] == first and [part["size"] for part in parts] == sizes
    ]


def _rival(parts: Sequence[asyncpg.Record]) -> Rival:
    digests = [part["sha256"] for part in parts]
    known = all(digest is not None for digest in digests)
    state = parts[0]["state"]
    return Rival(
        archive=parts[0]["id"],
        content=content_of(digests) if known else None,
        delivered=state == "filed",
        coming=state in ("waiting", "working", "failed"),
    )


# Filed


async def finish(
    connection: Connection, one: ToFile, digests: Sequence[bytes] | None, duplicate_of: int | None = None
) -> int | None:
    """The set is where it was to go; returns what it is a duplicate of.

    *digests* are those of all its parts, or None when it was not read. Whatever has the same content and was filed
    before is named as its original, wherever that went.
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
        await feed.record(connection, "archive.filed", one.taken.name, await _told(connection, one, row, duplicate_of))
    return duplicate_of


async def _same_content(connection: Connection, archive: int, content: bytes) -> int | None:
    # Two sets of one content that end at the same moment would each find the other unfinished.
    await connection.execute(
        "SELECT pg_advisory_xact_lock($1, $2)", _CONTENTS, -1 - int.from_bytes(content[:3], "little")
    )
    found: int | None = await connection.fetchval(
        "SELECT min(id) FROM archives WHERE content = $1 AND id <> $2 AND state = 'filed' AND duplicate_of IS NULL",
        content, archive,
    )  # fmt: skip
    return found


async def _told(connection: Connection, one: ToFile, row: asyncpg.Record, duplicate_of: int | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "archive": one.taken.archive,
        "channel": one.taken.channel,
        "flags": row["flags"],
        "duplicate_of": duplicate_of,
    }
    if one.destination is None:
        return told
    messages = await connection.fetch(
        "SELECT message FROM deliveries WHERE archive = $1 AND destination = $2 ORDER BY number",
        one.taken.archive, one.destination.key,
    )  # fmt: skip
    return {**told, "destination": one.destination.channel, "messages": [found["message"] for found in messages]}
