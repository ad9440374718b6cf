"""Archives as operators see them: listed, looked into, and asked for again."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidegate.errors import BadInput
from tidegate.rules.archives import missing, missing_in_words
from tidegate.rules.naming import Kind, position
from tidegate.rules.retrying import Failure, FailureReason, ask_by_hand
from tidegate.store import archive_search, archives, feed
from tidegate.store.archive_search import LEFT_OFF, Sought
from tidegate.store.database import Connection

_STATE = f"CASE WHEN {LEFT_OFF} THEN 'waiting' ELSE a.state END"

_LISTED = f"""
    SELECT a.id, a.name, c.number AS channel, c.title, a.topic, a.kind, {_STATE} AS state, a.flags, a.lost, a.found_at,
        a.indexed_at, a.filed_at, a.content, a.duplicate_of, f.reason, coalesce(f.attempts, 0) AS attempts,
        CASE WHEN a.state = 'failed' THEN f.next_try_at END AS next_try_at, f.detail,
        (SELECT count(*) FROM archive_contents i WHERE i.archive = a.id) AS contents, p.parts, p.size, p.message
    FROM archives a
    JOIN channels c ON c.id = a.channel
    LEFT JOIN failures f ON f.archive = a.id
    CROSS JOIN LATERAL (
        SELECT count(*) AS parts, coalesce(sum(size), 0)::bigint AS size, min(message) AS message
        FROM archive_parts WHERE archive = a.id AND NOT spare
    ) AS p
"""


async def listing(connection: Connection, sought: Sought, *, most: int) -> list[dict[str, Any]]:
    """The newest archives of those sought."""
    found = await archive_search.newest(connection, sought, most=most)
    rows = await connection.fetch(f"{_LISTED} WHERE a.id = ANY($1) ORDER BY a.id DESC", found)
    return await _with_missing(connection, [dict(row) for row in rows])


async def contents(connection: Connection, archive: int, *, after: int = 0, most: int) -> list[dict[str, Any]]:
    """The files inside an archive in its own order, those beyond a number."""
    rows = await connection.fetch(
        "SELECT number, path, size, encrypted FROM archive_contents "
        "WHERE archive = $1 AND number > $2 ORDER BY number LIMIT $3",
        archive, after, most,
    )  # fmt: skip
    return [dict(row) for row in rows]


async def count_failed(connection: Connection) -> int:
    """How many archives could be tried again by hand."""
    number: int = await connection.fetchval(
        "SELECT count(*) FROM failures f JOIN archives a ON a.id = f.archive "
        "WHERE a.state IN ('failed', 'given_up') AND f.reason <> 'source_gone'"
    )
    return number


async def channel_of(connection: Connection, archive: int) -> int | None:
    """Our number of the channel that an archive was found in; None when there is no such archive."""
    key: int | None = await connection.fetchval("SELECT channel FROM archives WHERE id = $1", archive)
    return key


async def _with_missing(connection: Connection, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with the parts that sets wait for: their numbers, and their names' endings for a person to look for."""
    known = await archives.sets(connection, [row["id"] for row in rows if row["state"] in ("collecting", "incomplete")])
    for row in rows:
        one = known.get(row["id"])
        holes = missing(one) if one else []
        row["missing"] = [number for low, high in holes for number in range(low, high + 1)]
        row["missing_files"] = missing_in_words(one) if one else ""
    return rows


async def show(connection: Connection, archive: int) -> dict[str, Any]:
    """One archive with its parts in the order of its content, where they were posted, and the files inside."""
    row = await connection.fetchrow(f"{_LISTED} WHERE a.id = $1", archive)
    if row is None:
        raise BadInput(f"There is no archive {archive}. See them with: tidegate archive list")
    parts = await connection.fetch(
        "SELECT number, name, size, message, at, sha256 FROM archive_parts WHERE archive = $1 AND NOT spare", archive
    )
    files = await connection.fetch(
        "SELECT path, size, encrypted FROM archive_contents WHERE archive = $1 ORDER BY number", archive
    )
    posted = await connection.fetch(
        """
        SELECT c.number AS channel, c.title, d.name, d.size, d.way, d.state, d.message, d.sent_at
        FROM deliveries d JOIN channels c ON c.id = d.destination
        WHERE d.archive = $1
        ORDER BY d.destination, d.number
        """,
        archive,
    )
    [found] = await _with_missing(connection, [dict(row)])
    kind = Kind(row["kind"])
    ordered = sorted(parts, key=lambda part: position(kind, part["number"]))
    return {
        **found,
        "files_of": [dict(part) for part in ordered],
        "inside": [dict(file) for file in files],
        "deliveries": [dict(one) for one in posted],
    }


async def ask_again(
    connection: Connection, archives: Collection[int] | None = None, reason: FailureReason | None = None
) -> list[int]:
    """A person wants failed archives tried in the very next cycle: those given, or all, of one reason or of any.

    Returns those that were asked for. One whose source is gone cannot be. No watermark moves (S-36).
    """
    rows = await connection.fetch(
        """
        SELECT f.*, clock_now() AS now
        FROM failures f JOIN archives a ON a.id = f.archive
        WHERE a.state IN ('failed', 'given_up') AND f.reason <> 'source_gone'
          AND ($1::bigint[] IS NULL OR f.archive = ANY($1)) AND ($2::text IS NULL OR f.reason = $2)
        ORDER BY f.archive
        FOR UPDATE
        """,
        None if archives is None else list(archives), None if reason is None else reason.value,
    )  # fmt: skip
    asked = {row["archive"]: ask_by_hand(_failure(row), row["now"]) for row in rows}
    if not asked:
        return []
    await connection.execute(
        """
        UPDATE failures f SET attempts = w.attempts, next_try_at = w.next_try_at, by_hand = w.by_hand
        FROM unnest($1::bigint[], $2::integer[], $3::timestamptz[], $4::boolean[])
            AS w (archive, attempts, next_try_at, by_hand)
        WHERE f.archive = w.archive
        """,
        list(asked), [one.attempts for one in asked.values()], [one.next_try_at for one in asked.values()],
        [one.by_hand for one in asked.values()],
    )  # fmt: skip
    await connection.execute(
        "UPDATE archives SET state = 'failed' WHERE id = ANY($1) AND state = 'given_up'", list(asked)
    )
    await feed.record(connection, "failures.asked", reason.value if reason else "all", {"archives": list(asked)})
    return list(asked)


def _failure(row: Any) -> Failure:
    return Failure(
        message=row["message"],
        reason=FailureReason(row["reason"]),
        attempts=row["attempts"],
        next_try_at=row["next_try_at"],
        size=row["size"],
        by_hand=row["by_hand"],
    )
