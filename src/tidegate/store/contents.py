"""Archives being worked on one set at a time: taken, and ended with their list of contents or as a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from tidegate.port import ChannelId, FileHandle
from tidegate.rules.finding import vector
from tidegate.rules.naming import Kind, position
from tidegate.rules.retrying import Failure, FailureReason
from tidegate.store import failures, feed
from tidegate.store.database import Connection
from tidegate.words import AccountId

READING_FLAGS = ("encrypted", "damaged", "contents_cut", "not_listed")
"""What reading an archive says of it; reading it again replaces these words."""


@dataclass(frozen=True, slots=True)
class TakenPart:
    """One file of a set in the order of its content; *handle* is None where this account has none.

    *sha256* is None until it was read. What is *protected* cannot be copied on the server.
    """

    message: int
    file: int
    size: int
    handle: FileHandle | None
    name: str = ""
    protected: bool = False
    sha256: bytes | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A set that is being worked on. *delivered_too*: after its contents are known, something is still to be done."""

    archive: int
    name: str
    kind: Kind
    channel: ChannelId
    parts: Sequence[TakenPart]
    delivered_too: bool
    earlier: Failure | None

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def message(self) -> int:
        return self.parts[0].message


@dataclass(frozen=True, slots=True)
class Row:
    """One file inside an archive."""

    path: str
    size: int
    encrypted: bool


async def put_back(connection: Connection, account: AccountId) -> int:
    """Let the sets whose reading an earlier owner of the account left off wait again; returns how many."""
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


async def take(connection: Connection, account: AccountId, kinds: Collection[Kind]) -> Taken | None:
    """The oldest waiting set of these kinds in the account's enabled channels, from now on being worked on."""
    row = await connection.fetchrow(
        """
        UPDATE archives w SET state = 'working'
        FROM (
            SELECT a.id, c.number, c.hashed OR c.destination IS NOT NULL AS delivered_too
            FROM archives a JOIN channels c ON c.id = a.channel
            WHERE c.reader = $1 AND c.enabled AND a.state = 'waiting' AND a.indexed_at IS NULL AND a.kind = ANY($2)
              AND EXISTS (SELECT FROM archive_parts p WHERE p.archive = a.id AND NOT p.spare)
            ORDER BY a.id LIMIT 1
            FOR UPDATE OF a SKIP LOCKED
        ) AS next
        WHERE w.id = next.id
        RETURNING w.id, w.name, w.kind, next.number, next.delivered_too
        """,
        account, [kind.value for kind in kinds],
    )  # fmt: skip
    return None if row is None else await taken_of(connection, row, account)


async def taken_of(connection: Connection, row: asyncpg.Record, account: AccountId) -> Taken:
    """A set that was just taken, with its parts; *row* has id, name, kind, its channel's number and delivered_too."""
    kind = Kind(row["kind"])
    return Taken(
        archive=row["id"],
        name=row["name"],
        kind=kind,
        channel=ChannelId(row["number"]),
        parts=await _parts(connection, row["id"], kind, account),
        delivered_too=row["delivered_too"],
        earlier=await _earlier(connection, row["id"]),
    )


async def _parts(connection: Connection, archive: int, kind: Kind, account: AccountId) -> list[TakenPart]:
    rows = await connection.fetch(
        """
        SELECT number, message, file, size, CASE WHEN handle_of = $2 THEN handle END AS handle, name, protected, sha256
        FROM archive_parts WHERE archive = $1 AND NOT spare
        """,
        archive, account,
    )  # fmt: skip
    ordered = sorted(rows, key=lambda row: position(kind, row["number"]))
    names = ("message", "file", "size", "handle", "name", "protected", "sha256")
    return [TakenPart(**{name: row[name] for name in names}) for row in ordered]


async def _earlier(connection: Connection, archive: int) -> Failure | None:
    row = await connection.fetchrow("SELECT * FROM failures WHERE archive = $1", archive)
    if row is None:
        return None
    return Failure(
        message=row["message"],
        reason=FailureReason(row["reason"]),
        attempts=row["attempts"],
        next_try_at=row["next_try_at"],
        size=row["size"],
        by_hand=row["by_hand"],
    )


async def keep_handle(connection: Connection, archive: int, part: TakenPart, account: AccountId) -> None:
    """Remember the handle that a part's message brought when it was fetched again."""
    await connection.execute(
        "UPDATE archive_parts SET handle = $4, handle_of = $5 WHERE archive = $1 AND message = $2 AND file = $3",
        archive, part.message, part.file, part.handle, account,
    )  # fmt: skip


async def keep(connection: Connection, taken: Taken, files: Sequence[Row], flags: Collection[str]) -> bool:
    """Store what is inside a set, and that nothing of it failed; False when it is no longer being worked on.

    It is filed now, unless it is still to be delivered; then it goes on waiting.
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
    told = {"archive": taken.archive, "channel": taken.channel, "contents": len(files), "flags": row["flags"]}
    await feed.record(connection, "archive.indexed" if taken.delivered_too else "archive.filed", taken.name, told)
    return True


async def reopen(connection: Connection, taken: Taken, volumes: int, *, all_told: bool = True) -> bool:
    """The content says that there are more volumes: the set collects again; False when it is no longer in hand.

    Where not *all* are told (a RAR's last volume knows only that another follows), that one is known to be lacking.
    """
    moved = await connection.fetchrow(
        """
        UPDATE archives
        SET state = 'collecting', volumes = CASE WHEN $3 THEN $2 ELSE volumes END,
            lost = CASE WHEN $3 OR $4 = ANY(lost) THEN lost ELSE array_append(lost, $4) END
        WHERE id = $1 AND state = 'working'
        RETURNING id
        """,
        taken.archive, volumes, all_told, taken.kind.first + volumes - 1,
    )  # fmt: skip
    if moved is None:
        return False
    await connection.execute("DELETE FROM failures WHERE archive = $1", taken.archive)
    told = {"archive": taken.archive, "channel": taken.channel, "parts": len(taken.parts), "volumes": volumes}
    await feed.record(connection, "archive.reopened", taken.name, told)
    return True


async def fail(connection: Connection, taken: Taken, failure: Failure, detail: str, *, given_up: bool) -> bool:
    """Put a set on record as failed; False when it is no longer being worked on."""
    state = "given_up" if given_up else "failed"
    moved: asyncpg.Record | None = await connection.fetchrow(
        "UPDATE archives SET state = $2 WHERE id = $1 AND state = 'working' RETURNING id", taken.archive, state
    )
    if moved is None:
        return False
    await failures.record(connection, taken.archive, failure, detail)
    if failure.reason is FailureReason.SOURCE_GONE:
        await failures.close_as_gone(connection, [taken.archive])
    told: dict[str, Any] = {
        "archive": taken.archive,
        "channel": taken.channel,
        "reason": failure.reason.value,
        "sentence": detail or failure.reason.sentence,
        "attempts": failure.attempts,
        "next_try_at": None if given_up else failure.next_try_at.isoformat(),
    }
    await feed.record(connection, "archive.failed", taken.name, told)
    return True
