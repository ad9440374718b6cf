"""Sets taken for reading, one at a time, and ended with their list of contents or as a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import asyncpg

from tidegate.archives.queries import failures
from tidegate.archives.rules.contained_file import ContainedFile
from tidegate.archives.rules.delivery_plan import ArchivePartToFile
from tidegate.archives.rules.file_names import ArchiveKind, position
from tidegate.archives.rules.retry import ArchiveFailure, FailureReason
from tidegate.core.ids import AccountId, ArchiveId, ChannelId, MessageId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.events.kinds.archives import ArchiveFailed, ArchiveFiled, ArchiveIndexed, ArchiveReopened
from tidegate.events.queries import feed
from tidegate.platforms.interface import FileHandle
from tidegate.search.rules.tokenizer import vector

READING_FLAGS = ("encrypted", "damaged", "contents_cut", "not_listed")
"""The flags that reading an archive sets; reading it again replaces them."""

_COMPETING = 50


@dataclass(frozen=True, slots=True)
class TakenArchivePart(ArchivePartToFile):
    """One part of a set that is being worked on."""

    handle: FileHandle | None = None  # None where this account has none
    sha256: bytes | None = None  # None until the part was read


@dataclass(frozen=True, slots=True)
class TakenSet:
    """A set that is being worked on."""

    archive: ArchiveId
    name: str
    kind: ArchiveKind
    channel: ChannelId
    parts: Sequence[TakenArchivePart]
    delivered_too: bool  # after its contents are known, it is to be hashed or delivered
    earlier: ArchiveFailure | None

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def largest_part(self) -> int:
        return max(part.size for part in self.parts)

    @property
    def message(self) -> MessageId:
        return self.parts[0].message


async def put_back(connection: Connection, account: AccountId) -> int:
    """Put back the sets that an earlier owner of the account did not finish reading; returns how many."""
    rows = await connection.fetch(
        """
        UPDATE archives a SET state = 'waiting'
        FROM channels c
        WHERE c.id = a.channel AND c.reader = $1 AND a.state = 'working' AND a.indexed_at IS NULL
        RETURNING a.id
        """,
        account,
    )
    return len(rows)


async def take(
    connection: Connection, account: AccountId, kinds: Collection[ArchiveKind], *, without: Collection[ChannelId] = ()
) -> TakenSet | None:
    """Take the next waiting set of these kinds in the account's enabled channels, except the channels in *without*.

    A set that failed before comes after all that were never tried, unless the operator asked for it. Otherwise the
    first found comes first, where each mebibyte counts as a minute later, at most an hour. So a small set overtakes a
    large one, and a large one is overtaken only for a limited time.
    """
    for tried in (False, True):
        row = await connection.fetchrow(
            """
            WITH next AS MATERIALIZED (
                SELECT a.id, c.number, c.hashed OR c.destination IS NOT NULL AS delivered_too
                FROM channels c
                CROSS JOIN LATERAL (
                    SELECT a.id FROM archives a
                    WHERE a.channel = c.id AND a.state = 'waiting' AND a.indexed_at IS NULL AND a.kind = ANY($2)
                      AND $3 = EXISTS (SELECT FROM failures f WHERE f.archive = a.id AND NOT f.by_hand)
                    ORDER BY a.id LIMIT $4  -- of a channel with very many the oldest compete
                ) AS oldest
                JOIN archives a ON a.id = oldest.id
                CROSS JOIN LATERAL (
                    SELECT sum(size) AS size FROM archive_parts p WHERE p.archive = a.id AND NOT p.spare
                ) AS parts
                WHERE c.reader = $1 AND c.enabled AND c.number <> ALL($5) AND parts.size IS NOT NULL
                ORDER BY a.found_at + least(parts.size / 1048576.0, 60) * interval '1 minute', a.id
                LIMIT 1
                FOR UPDATE OF a SKIP LOCKED
            )
            UPDATE archives w SET state = 'working'
            FROM next
            WHERE w.id = next.id AND w.state = 'waiting'
            RETURNING w.id, w.name, w.kind, next.number, next.delivered_too
            """,
            account, [kind.value for kind in kinds], tried, _COMPETING, list(without),
        )  # fmt: skip
        if row is not None:
            return await taken_of(connection, row, account)
    return None


async def taken_of(connection: Connection, row: asyncpg.Record, account: AccountId) -> TakenSet:
    """A set that was just taken, with its parts; *row* has id, name, kind, its channel's number and delivered_too."""
    kind = ArchiveKind(row["kind"])
    rows = await connection.fetch(
        """
        SELECT number, message, file, name, size, protected, CASE WHEN handle_of = $2 THEN handle END AS handle, sha256
        FROM archive_parts WHERE archive = $1 AND NOT spare
        """,
        row["id"], account,
    )  # fmt: skip
    earlier = await connection.fetchrow("SELECT * FROM failures WHERE archive = $1", row["id"])
    parts = sorted(rows, key=lambda part: position(kind, part["number"]))
    return TakenSet(
        archive=ArchiveId(row["id"]),
        name=row["name"],
        kind=kind,
        channel=ChannelId(row["number"]),
        parts=[from_row(TakenArchivePart, part) for part in parts],
        delivered_too=row["delivered_too"],
        earlier=failures.failure_of(earlier) if earlier else None,
    )


async def keep_handle(connection: Connection, archive: ArchiveId, part: TakenArchivePart, account: AccountId) -> None:
    """Store the handle that a part's message brought when it was fetched again."""
    await connection.execute(
        "UPDATE archive_parts SET handle = $4, handle_of = $5 WHERE archive = $1 AND message = $2 AND file = $3",
        archive, part.message, part.file, part.handle, account,
    )  # fmt: skip


async def keep(connection: Connection, taken: TakenSet, files: Sequence[ContainedFile], flags: Collection[str]) -> bool:
    """Store what is inside a set, and clear its failure; False when it is not being worked on any more.

    It is filed now, unless it is still to be delivered; then it waits again.
    """
    state = "waiting" if taken.delivered_too else "filed"
    row = await connection.fetchrow(
        """
        UPDATE archives
        SET state = $2, indexed_at = clock_now(), filed_at = CASE $2 WHEN 'filed' THEN clock_now() END,
            flags = ARRAY(SELECT flag FROM unnest(flags) AS flag WHERE flag <> ALL($3)) || $4::text[]
        WHERE id = $1 AND state = 'working'
        RETURNING flags
        """,
        taken.archive, state, list(READING_FLAGS), sorted(flags),
    )  # fmt: skip
    if row is None:
        return False
    await connection.execute("DELETE FROM archive_contents WHERE archive = $1", taken.archive)
    await connection.execute(
        """
        INSERT INTO archive_contents (archive, number, path, size, encrypted, words)
        SELECT $1, number, path, size, encrypted, words::tsvector
        FROM unnest($2::text[], $3::bigint[], $4::boolean[], $5::text[])
            WITH ORDINALITY AS w (path, size, encrypted, words, number)
        """,
        taken.archive, [one.path for one in files], [one.size for one in files], [one.encrypted for one in files],
        await asyncio.to_thread(lambda: [vector([one.path]) for one in files]),  # an archive may hold very many
    )  # fmt: skip
    await connection.execute("DELETE FROM failures WHERE archive = $1", taken.archive)
    done = ArchiveIndexed if taken.delivered_too else ArchiveFiled
    listed = done(archive=taken.archive, channel=taken.channel, contents=len(files), flags=row["flags"])
    await feed.record(connection, taken.name, listed)
    return True


async def reopen(connection: Connection, taken: TakenSet, volumes: int, *, all_counted: bool = True) -> bool:
    """The content says that there are more volumes: the set collects again; False when it is no longer being read.

    Without *all_counted* (a RAR's last volume knows only that another follows), only that next volume is known to be
    missing.
    """
    moved = await connection.fetchrow(
        """
        UPDATE archives
        SET state = 'collecting', volumes = CASE WHEN $3 THEN $2 ELSE volumes END,
            lost = CASE WHEN $3 OR $4 = ANY(lost) THEN lost ELSE array_append(lost, $4) END
        WHERE id = $1 AND state = 'working'
        RETURNING id
        """,
        taken.archive, volumes, all_counted, taken.kind.first + volumes - 1,
    )  # fmt: skip
    if moved is None:
        return False
    await connection.execute("DELETE FROM failures WHERE archive = $1", taken.archive)
    reopened = ArchiveReopened(archive=taken.archive, channel=taken.channel, parts=len(taken.parts), volumes=volumes)
    await feed.record(connection, taken.name, reopened)
    return True


async def fail(
    connection: Connection, taken: TakenSet, failure: ArchiveFailure, detail: str, *, given_up: bool
) -> bool:
    """Record a set as failed; False when it is not being worked on any more."""
    state = "given_up" if given_up else "failed"
    moved: asyncpg.Record | None = await connection.fetchrow(
        "UPDATE archives SET state = $2 WHERE id = $1 AND state = 'working' RETURNING id", taken.archive, state
    )
    if moved is None:
        return False
    await failures.record(connection, taken.archive, failure, detail)
    if failure.reason is FailureReason.SOURCE_GONE:
        await failures.close_as_gone(connection, [taken.archive])
    failed = ArchiveFailed(
        archive=taken.archive,
        channel=taken.channel,
        reason=failure.reason.value,
        sentence=detail or failure.reason.sentence,
        attempts=failure.attempts,
        next_try_at=None if given_up else failure.next_try_at,
    )
    await feed.record(connection, taken.name, failed)
    return True
