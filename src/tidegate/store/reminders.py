"""Reminders as operators wrote them, and when each fires next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.errors import BadInput, NotThere
from tidegate.store import feed
from tidegate.store.database import Connection
from tidegate.words import AccountId, Platform, ReminderId


@dataclass(frozen=True, slots=True)
class KeptReminder:
    """A reminder as the store knows it. *written* is its document, *files* the content each of its files had, by hash,
    and *sizes* their bytes.

    *everything_is_paused* when a person has stopped every run, so that nothing is fired.
    """

    id: ReminderId
    name: str
    account: AccountId
    account_name: str
    platform: Platform
    written: Mapping[str, Any]
    due_at: datetime | None
    doubtful: bool
    files: Mapping[str, bytes]
    sizes: Mapping[str, int]
    everything_is_paused: bool
    now: datetime


@dataclass(frozen=True, slots=True)
class Saved:
    """What is stored of a reminder. *channels* is our number of each group that was named, in order."""

    name: str
    account: AccountId
    written: Mapping[str, Any]
    start_hour: int
    end_hour: int
    timezone: str
    due_at: datetime | None
    named: Sequence[str]
    channels: Sequence[int | None]
    list: int | None
    files: Mapping[str, bytes]


_KEPT = """
    SELECT r.id, r.name, r.account, a.name AS account_name, a.platform, r.written, r.due_at, r.doubtful,
        (SELECT array_agg(name ORDER BY name) FROM reminder_media m WHERE m.reminder = r.id) AS file_names,
        (SELECT array_agg(sha256 ORDER BY name) FROM reminder_media m WHERE m.reminder = r.id) AS file_hashes,
        (SELECT array_agg(d.size ORDER BY m.name) FROM reminder_media m JOIN media d USING (sha256)
         WHERE m.reminder = r.id) AS file_sizes,
        (SELECT runs_paused_at IS NOT NULL FROM house) AS everything_is_paused, clock_now() AS now
    FROM reminders r JOIN accounts a ON a.id = r.account
"""


async def add(connection: Connection, saved: Saved) -> ReminderId:
    """Keep a new reminder; call inside a transaction."""
    try:
        number = await connection.fetchval(
            """
            INSERT INTO reminders (name, account, written, delivery_window_start_hour, delivery_window_end_hour,
                                   timezone, list, due_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            RETURNING id
            """,
            saved.name, saved.account, dict(saved.written), saved.start_hour, saved.end_hour, saved.timezone,
            saved.list, saved.due_at,
        )  # fmt: skip
    except asyncpg.UniqueViolationError:
        raise BadInput(
            f'There is a reminder named "{saved.name}" already; change it with: tidegate reminder edit'
        ) from None
    await _keep_rest(connection, number, saved)
    await feed.record(connection, "reminder.added", saved.name, _told(saved))
    return ReminderId(number)


async def change(connection: Connection, reminder: ReminderId, saved: Saved) -> None:
    """Keep a reminder as it is written now; runs that are open stay as they were frozen. Inside a transaction."""
    try:
        await connection.execute(
            """
            UPDATE reminders
            SET name = $2, account = $3, written = $4, delivery_window_start_hour = $5, delivery_window_end_hour = $6,
                timezone = $7, list = $8, due_at = $9, doubtful = false
            WHERE id = $1
            """,
            reminder, saved.name, saved.account, dict(saved.written), saved.start_hour, saved.end_hour,
            saved.timezone, saved.list, saved.due_at,
        )  # fmt: skip
    except asyncpg.UniqueViolationError:
        raise BadInput(f'There is another reminder named "{saved.name}"; choose another name.') from None
    await connection.execute("DELETE FROM reminder_targets WHERE reminder = $1", reminder)
    await connection.execute("DELETE FROM reminder_media WHERE reminder = $1", reminder)
    await _keep_rest(connection, reminder, saved)
    await feed.record(connection, "reminder.changed", saved.name, _told(saved))


async def _keep_rest(connection: Connection, reminder: int, saved: Saved) -> None:
    await connection.execute(
        """
        INSERT INTO reminder_targets (reminder, number, named, channel)
        SELECT $1, number, named, channel
        FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS t (named, channel, number)
        """,
        reminder, list(saved.named), list(saved.channels),
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO reminder_media (reminder, name, sha256) SELECT $1, * FROM unnest($2::text[], $3::bytea[])",
        reminder, list(saved.files), list(saved.files.values()),
    )  # fmt: skip


def _told(saved: Saved) -> dict[str, object]:
    return {"due_at": saved.due_at.isoformat() if saved.due_at else None}


async def find(connection: Connection, name: str, *, lock: bool = False) -> KeptReminder:
    """The reminder of that name or number, or a sentence; *lock* keeps others from firing or changing it."""
    alone = "FOR UPDATE OF r" if lock else ""
    row = await connection.fetchrow(
        f"{_KEPT} WHERE r.name = $1 OR r.id::text = $1 ORDER BY r.name = $1 DESC LIMIT 1 {alone}", name
    )
    if row is None:
        names = await connection.fetch("SELECT name FROM reminders ORDER BY name LIMIT 6")
        known = ", ".join(f'"{one["name"]}"' for one in names) or "none yet"
        raise NotThere(f'reminder named "{name}"', f"Reminders: {known}.")
    return _kept(row)


async def listing(connection: Connection) -> list[KeptReminder]:
    """Every reminder, those that fire next first."""
    return [_kept(row) for row in await connection.fetch(f"{_KEPT} ORDER BY r.due_at NULLS LAST, r.name")]


async def due(connection: Connection, account: AccountId) -> list[KeptReminder]:
    """An account's reminders whose firing has come, locked, in the order they are due."""
    rows = await connection.fetch(
        f"{_KEPT} WHERE r.account = $1 AND r.due_at <= clock_now() ORDER BY r.due_at, r.id FOR UPDATE OF r", account
    )
    return [_kept(row) for row in rows]


async def set_due(connection: Connection, reminder: ReminderId, due_at: datetime | None) -> None:
    """Say when a reminder fires next."""
    await connection.execute("UPDATE reminders SET due_at = $2, doubtful = false WHERE id = $1", reminder, due_at)


async def doubt_due(connection: Connection) -> None:
    """After a restore: firings that are due may have been made since the backup, so a person decides about them."""
    await connection.execute("UPDATE reminders SET doubtful = true WHERE due_at <= clock_now()")


async def remove(connection: Connection, reminder: KeptReminder) -> None:
    """Forget a reminder; its runs stay, and one that is open goes on."""
    await connection.execute("DELETE FROM reminders WHERE id = $1", reminder.id)
    await feed.record(connection, "reminder.removed", reminder.name, {})


def _kept(row: asyncpg.Record) -> KeptReminder:
    return KeptReminder(
        id=ReminderId(row["id"]),
        name=row["name"],
        account=AccountId(row["account"]),
        account_name=row["account_name"],
        platform=Platform(row["platform"]),
        written=row["written"],
        due_at=row["due_at"],
        doubtful=row["doubtful"],
        files=dict(zip(row["file_names"] or (), row["file_hashes"] or (), strict=True)),
        sizes=dict(zip(row["file_names"] or (), row["file_sizes"] or (), strict=True)),
        everything_is_paused=row["everything_is_paused"],
        now=row["now"],
    )
