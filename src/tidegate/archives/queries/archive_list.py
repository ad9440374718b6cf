"""Archives as operators see them: listed, shown with their contents, and retried."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidegate.archives.queries import archive_search, archive_sets, closed_destinations, failures
from tidegate.archives.queries.archive_search import LEFT_OFF, ArchiveFilter
from tidegate.archives.queries.filing_queue import TO_MOVE
from tidegate.archives.rules.file_names import ArchiveKind, position
from tidegate.archives.rules.retry import FailureReason, Outlook, ask_by_hand, foresee_try
from tidegate.archives.rules.set_assembly import missing, missing_in_words
from tidegate.core.account import AccountState
from tidegate.core.errors import BadInput
from tidegate.core.ids import ArchiveId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.events.kinds.archives import FailuresAsked
from tidegate.events.queries import feed
from tidegate.workers.queries import workers

_STATE = f"CASE WHEN {LEFT_OFF} THEN 'waiting' ELSE a.state END"

# What keeps a waiting set from being filed, other than a failure of its own.
_HELD = f"""
    SELECT 'no_process' AS reason, d.sentence FROM reading_pauses d
    WHERE d.account = c.reader AND a.indexed_at IS NULL
    UNION ALL
    SELECT 'destination_closed', d.sentence FROM closed_destinations d
    WHERE a.indexed_at IS NOT NULL AND d.account = c.reader AND d.channel = c.destination AND NOT d.trying
    UNION ALL
    SELECT 'disk_full', d.sentence FROM disk_pauses d, LATERAL ({TO_MOVE}) AS moved
    WHERE a.indexed_at IS NOT NULL AND d.account = c.reader AND moved.largest >= d.needed AND moved.largest > 0
    LIMIT 1
"""

_HELD_BY = {
    "no_process": "The process that reads archives cannot be started at the moment.",
    "destination_closed": "Its destination takes nothing at the moment.",
    "disk_full": "There is not enough free disk space to work on it.",
}

_LISTED = f"""
    SELECT a.id, a.name, a.channel AS channel_key, c.number AS channel, c.title, a.topic, a.kind,
        {_STATE} AS state, a.flags, a.lost, a.found_at, a.indexed_at, a.filed_at,
        a.content, a.duplicate_of, o.channel AS original_channel,
        coalesce(held.reason, f.reason) AS reason,
        coalesce(f.attempts, 0) AS attempts, held.sentence AS held_by,
        f.next_try_at, f.by_hand, f.message AS failed_message, f.size AS failed_size, f.detail, clock_now() AS now,
        c.enabled, c.parked_until, r.next_cycle_at, r.id IN ({workers.SERVED}) AS served,
        CASE WHEN c.state <> 'unreadable' THEN r.state END AS reader_state,
        (SELECT count(*) FROM archive_contents i WHERE i.archive = a.id) AS contents, p.parts, p.size, p.message
    FROM archives a
    JOIN channels c ON c.id = a.channel
    LEFT JOIN accounts r ON r.id = c.reader
    LEFT JOIN failures f ON f.archive = a.id
    LEFT JOIN LATERAL ({_HELD}) AS held ON a.state = 'waiting'
    LEFT JOIN archives o ON o.id = a.duplicate_of
    CROSS JOIN LATERAL (
        SELECT count(*) AS parts, coalesce(sum(size), 0)::bigint AS size, min(message) AS message
        FROM archive_parts WHERE archive = a.id AND NOT spare
    ) AS p
"""


async def listing(
    connection: Connection, sought: ArchiveFilter, *, most: int, only: Collection[ChannelKey] | None = None
) -> list[dict[str, Any]]:
    """The newest archives of those sought, for a caller who may know of *only* these channels; None is all."""
    found = await archive_search.newest(connection, sought, most=most)
    rows = await connection.fetch(f"{_LISTED} WHERE a.id = ANY($1) ORDER BY a.id DESC", found)
    return await _with_missing(connection, [_within(only, _with_outlook(dict(row))) for row in rows])


def _with_outlook(row: dict[str, Any]) -> dict[str, Any]:
    """The same with the time of the next try, and the obstacle that keeps it from being worked on."""
    account = None if row["reader_state"] is None else AccountState(row["reader_state"])
    names = ("enabled", "served", "next_cycle_at", "parked_until")
    outlook = Outlook(account=account, **{name: row[name] for name in names})
    next_try_at, obstacle = None, outlook.obstacle
    if row["state"] in ("failed", "given_up") and row["next_try_at"] is not None:
        failure = failures.failure_of({**row, "message": row["failed_message"], "size": row["failed_size"]})
        next_try_at, obstacle = foresee_try(failure, outlook, given_up=row["state"] == "given_up", now=row["now"])
    return {**row, "next_try_at": next_try_at, "obstacle": obstacle}


def _within(only: Collection[ChannelKey] | None, row: dict[str, Any]) -> dict[str, Any]:
    """The same without anything about channels beyond *only*: its original, and the details of a failure."""
    if only is None:
        return row
    known = row["original_channel"] in only
    return {
        **row,
        "detail": None,
        "held_by": row["held_by"] and _HELD_BY[row["reason"]],  # the operator's sentence names destination and machine
        "duplicate_of": row["duplicate_of"] if known else None,
        "flags": [flag for flag in row["flags"] if known or flag != "duplicate"],
    }


async def contents(
    connection: Connection, archive: ArchiveId, *, after: int = 0, text: str = "", most: int, is_sorted: bool = False
) -> list[dict[str, Any]]:
    """The files inside an archive, those after a number and with a *text* in their path.

    They come in the archive's own order, or *is_sorted* in natural order, which takes longer the more there are.
    """
    order = 'natural_order(lower(path)) COLLATE "C", number' if is_sorted else "number"
    rows = await connection.fetch(
        f"""
        SELECT number, path, size, encrypted FROM archive_contents
        WHERE archive = $1 AND ($4 = '' OR strpos(lower(path), lower($4)) > 0) AND ($2 = 0 OR ({order}) > (
            SELECT {order} FROM archive_contents WHERE archive = $1 AND number = $2))
        ORDER BY {order} LIMIT $3
        """,
        archive, after, most, text,
    )  # fmt: skip
    return [dict(row) for row in rows]


async def count_failed(connection: Connection) -> int:
    """How many failed archives the operator could retry."""
    number: int = await connection.fetchval(
        "SELECT count(*) FROM failures f JOIN archives a ON a.id = f.archive "
        "WHERE a.state IN ('failed', 'given_up') AND f.reason <> 'source_gone'"
    )
    return number


async def channel_of(connection: Connection, archive: ArchiveId) -> ChannelKey | None:
    """Our number of the channel that an archive was found in; None when there is no such archive."""
    key: ChannelKey | None = await connection.fetchval("SELECT channel FROM archives WHERE id = $1", archive)
    return key


async def _with_missing(connection: Connection, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with the parts that sets wait for: their numbers, and their names' endings for a person to look for."""
    known = await archive_sets.sets(
        connection, [row["id"] for row in rows if row["state"] in ("collecting", "incomplete")]
    )
    for row in rows:
        one = known.get(row["id"])
        holes = missing(one) if one else []
        row["missing"] = [number for low, high in holes for number in range(low, high + 1)]
        row["missing_files"] = missing_in_words(one) if one else ""
    return rows


async def show(
    connection: Connection,
    archive: ArchiveId,
    *,
    only: Collection[ChannelKey] | None = None,
    most_inside: int | None = None,
) -> dict[str, Any]:
    """One archive with its parts in the order of its content, where they were posted, and the files inside.

    *only* are the channels that the caller may know of; None is all. Of the files inside it has the first
    *most_inside*, or all: their numbers run from 1.
    """
    row = await connection.fetchrow(f"{_LISTED} WHERE a.id = $1", archive)
    if row is None:
        raise BadInput(f"There is no archive {archive}. See them with: tidegate archive list")
    parts = await connection.fetch(
        "SELECT number, name, size, message, at, sha256 FROM archive_parts WHERE archive = $1 AND NOT spare", archive
    )
    files = await connection.fetch(
        "SELECT path, size, encrypted FROM archive_contents WHERE archive = $1 ORDER BY number LIMIT $2",
        archive, most_inside,
    )  # fmt: skip
    posted = await connection.fetch(
        """
        SELECT c.number AS channel, c.title, d.name, d.size, d.way, d.state, d.message, d.sent_at
        FROM deliveries d JOIN channels c ON c.id = d.destination
        WHERE d.archive = $1 AND ($2::bigint[] IS NULL OR d.destination = ANY($2))
        ORDER BY d.destination, d.number
        """,
        archive, None if only is None else list(only),
    )  # fmt: skip
    [found] = await _with_missing(connection, [_within(only, _with_outlook(dict(row)))])
    kind = ArchiveKind(row["kind"])
    ordered = sorted(parts, key=lambda part: position(kind, part["number"]))
    return {
        **found,
        "files_of": [dict(part) for part in ordered],
        "inside": [dict(file) for file in files],
        "deliveries": [dict(one) for one in posted],
    }


async def ask_again(
    connection: Connection, archives: Collection[ArchiveId] | None = None, reason: FailureReason | None = None
) -> list[ArchiveId]:
    """The operator wants failed archives retried in the next cycle: those given, or all, of one reason or of any.

    Those that wait for a closed destination count as failed for no reason of their own. Returns the archives that will
    be retried. One whose source is gone cannot be. No watermark moves.
    """
    waiting = [] if reason else await closed_destinations.look_now(connection, archives)
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
    asked = {row["archive"]: ask_by_hand(failures.failure_of(row), row["now"]) for row in rows}
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
    both = sorted([*asked, *waiting])
    if both:
        await feed.record(connection, reason.value if reason else "all", FailuresAsked(archives=both))
    return both
