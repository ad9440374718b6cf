"""Reminders as operators wrote them, and when each fires next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import asyncpg

from tidegate.core.errors import BadInput, NotThere
from tidegate.core.ids import AccountId, ChannelKey, ReminderId, RunId, TargetListId
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Connection
from tidegate.events.kinds.reminders import (
    ReminderAdded,
    ReminderChanged,
    ReminderDisabled,
    ReminderEnabled,
    ReminderRemoved,
)
from tidegate.events.queries import feed
from tidegate.reminders.definition import Reminder
from tidegate.reminders.queries.name_lookup import find_row
from tidegate.reminders.queries.targets import NOT_WRITTEN_TO
from tidegate.reminders.reminder_parser import as_written, parse_reminder


@dataclass(frozen=True)
class KeptReminder:
    """A reminder as the store knows it. *written* is its document, *files* the content each of its files had, by hash,
    and *sizes* their bytes.

    *everything_is_paused* when a person has stopped every run, so that nothing is fired. *parsed* is what it was
    stored from, where that happened just now.
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
    parsed: Reminder | None = None

    @cached_property
    def reminder(self) -> Reminder:
        """What the document means, parsed at most once; ``BadInput`` where it can no longer be read."""
        return parse_reminder(self.written) if self.parsed is None else self.parsed


@dataclass(frozen=True, slots=True)
class SavedReminder:
    """A parsed reminder with what is stored beside it. *channels* has our key of each group it names."""

    reminder: Reminder
    account: AccountId
    due_at: datetime | None
    channels: Mapping[str, ChannelKey | None]
    list: TargetListId | None
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


async def add(connection: Connection, saved: SavedReminder) -> KeptReminder:
    """Store a new reminder; call inside a transaction."""
    name = saved.reminder.name
    try:
        number = await connection.fetchval(
            """
            INSERT INTO reminders (name, account, written, delivery_window_start_hour, delivery_window_end_hour,
                                   timezone, list, due_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            RETURNING id
            """,
            *_columns(saved),
        )
    except asyncpg.UniqueViolationError:
        raise BadInput(f'There is a reminder named "{name}" already; change it with: tidegate reminder edit') from None
    await _store_targets_and_files(connection, number, saved)
    await feed.record(connection, name, ReminderAdded(due_at=saved.due_at))
    return replace(await find(connection, ReminderId(number)), parsed=saved.reminder)


async def change(connection: Connection, reminder: ReminderId, saved: SavedReminder) -> KeptReminder:
    """Store a reminder as it is written now, inside a transaction; open runs keep their frozen content."""
    name = saved.reminder.name
    try:
        await connection.execute(
            """
            UPDATE reminders
            SET name = $1, account = $2, written = $3, delivery_window_start_hour = $4, delivery_window_end_hour = $5,
                timezone = $6, list = $7, due_at = $8, doubtful = false
            WHERE id = $9
            """,
            *_columns(saved), reminder,
        )  # fmt: skip
    except asyncpg.UniqueViolationError:
        raise BadInput(f'There is another reminder named "{name}"; choose another name.') from None
    await connection.execute("DELETE FROM reminder_targets WHERE reminder = $1", reminder)
    await connection.execute("DELETE FROM reminder_media WHERE reminder = $1", reminder)
    await _store_targets_and_files(connection, reminder, saved)
    await feed.record(connection, name, ReminderChanged(due_at=saved.due_at))
    return replace(await find(connection, reminder), parsed=saved.reminder)


def _columns(saved: SavedReminder) -> Sequence[object]:
    reminder = saved.reminder
    return (
        reminder.name, saved.account, as_written(reminder), reminder.window.start_hour, reminder.window.end_hour,
        reminder.window.zone.key, saved.list, saved.due_at,
    )  # fmt: skip


async def _store_targets_and_files(connection: Connection, reminder: ReminderId, saved: SavedReminder) -> None:
    await connection.execute(
        """
        INSERT INTO reminder_targets (reminder, number, named, channel)
        SELECT $1, number, named, channel
        FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS t (named, channel, number)
        """,
        reminder, list(saved.channels), list(saved.channels.values()),
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO reminder_media (reminder, name, sha256) SELECT $1, * FROM unnest($2::text[], $3::bytea[])",
        reminder, list(saved.files), list(saved.files.values()),
    )  # fmt: skip


async def find(connection: Connection, name: str | ReminderId, *, lock: bool = False) -> KeptReminder:
    """The reminder of that name or number; ``NotThere`` when there is none.

    *lock* prevents others from firing or changing it.
    """
    row = await find_row(connection, _KEPT, "r", name, lock=lock)
    if row is None:
        names = await connection.fetch(
            'SELECT name FROM reminders ORDER BY natural_order(lower(name)) COLLATE "C" LIMIT 6'
        )
        known = ", ".join(f'"{one["name"]}"' for one in names) or "none yet"
        raise NotThere(f'reminder named "{name}"', f"Reminders: {known}.")
    return _kept(row)


async def listing(connection: Connection, *, skip: int = 0, most: int | None = None) -> list[KeptReminder]:
    """Reminders, those that fire next first: all, or *most* after the first *skip*."""
    rows = await connection.fetch(f"{_KEPT} ORDER BY r.due_at NULLS LAST, r.name LIMIT $1 OFFSET $2", most, skip)
    return [_kept(row) for row in rows]


async def due(connection: Connection, account: AccountId) -> list[KeptReminder]:
    """An account's reminders whose firing is due, locked, in the order they are due."""
    rows = await connection.fetch(
        f"{_KEPT} WHERE r.account = $1 AND r.due_at <= clock_now() ORDER BY r.due_at, r.id FOR UPDATE OF r", account
    )
    return [_kept(row) for row in rows]


async def set_due(connection: Connection, reminder: ReminderId, due_at: datetime | None) -> None:
    """Store when a reminder fires next."""
    await connection.execute("UPDATE reminders SET due_at = $2, doubtful = false WHERE id = $1", reminder, due_at)


async def set_enabled(connection: Connection, kept: KeptReminder, *, on: bool, due_at: datetime | None) -> None:
    """Store in a reminder's document whether its schedule counts, and when it fires next; inside a transaction."""
    await connection.execute(
        """
        UPDATE reminders
        SET written = CASE WHEN $2 THEN written - 'enabled' ELSE written || '{"enabled": false}' END,
            due_at = $3, doubtful = false
        WHERE id = $1
        """,
        kept.id, on, due_at,
    )  # fmt: skip
    await feed.record(connection, kept.name, ReminderEnabled(due_at=due_at) if on else ReminderDisabled())


async def doubt_due(connection: Connection) -> None:
    """After a restore: firings that are due may have been made since the backup, so a person decides about them."""
    await connection.execute("UPDATE reminders SET doubtful = true WHERE due_at <= clock_now()")


async def remove(connection: Connection, reminder: KeptReminder) -> None:
    """Delete a reminder; its runs stay, and an open run continues.

    Groups that a run left to it are free for another reminder, if this one was never fired.
    """
    await connection.execute(
        """
        UPDATE run_targets t SET left_to = '' FROM reminders r
        WHERE r.id = $1 AND t.run = r.rest_of AND t.left_to = r.rest_as
          AND NOT EXISTS (SELECT FROM runs WHERE reminder = r.id)
        """,
        reminder.id,
    )
    await connection.execute("DELETE FROM reminders WHERE id = $1", reminder.id)
    await feed.record(connection, reminder.name, ReminderRemoved())


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run of a reminder that was no test: its state, its status once it has ended, and its groups."""

    id: RunId
    state: str
    status: str | None
    fired_at: datetime
    sent: int
    groups: int


@dataclass(frozen=True, slots=True)
class ReminderReach:
    """How many groups a reminder goes to now, and its last run."""

    groups: int
    last_run: LastRun | None


async def reaches(connection: Connection) -> dict[ReminderId, ReminderReach]:
    """How many groups each reminder goes to now, and what became of its last run."""
    rows = await connection.fetch(
        """
        WITH open_to AS (
            SELECT s.account, count(*) AS groups FROM sights s JOIN channels c ON c.id = s.channel
            WHERE s.may_post AND c.state <> 'deleted' AND c.kind <> ALL($1) GROUP BY s.account
        )
        SELECT r.id AS reminder, last.*, CASE
            WHEN r.list IS NOT NULL THEN (SELECT count(*) FROM target_list_members m WHERE m.list = r.list)
            WHEN r.written @> '{"all": true}'
                THEN coalesce((SELECT o.groups FROM open_to o WHERE o.account = r.account), 0)
            ELSE (SELECT count(*) FROM reminder_targets t WHERE t.reminder = r.id) END AS goes_to
        FROM reminders r
        LEFT JOIN LATERAL (
            SELECT id, state, status, fired_at, count(t.*) AS groups, count(t.*) FILTER (WHERE t.sent) AS sent
            FROM (SELECT * FROM runs WHERE reminder = r.id AND NOT test ORDER BY id DESC LIMIT 1) n
            LEFT JOIN LATERAL (SELECT s.state = 'sent' AS sent FROM run_target_states s WHERE s.run = n.id) t ON true
            GROUP BY id, state, status, fired_at
        ) last ON true
        """,
        NOT_WRITTEN_TO,
    )
    return {ReminderId(row["reminder"]): ReminderReach(row["goes_to"], _last_run(row)) for row in rows}


def _last_run(row: asyncpg.Record) -> LastRun | None:
    if row["id"] is None:
        return None
    return LastRun(RunId(row["id"]), row["state"], row["status"], row["fired_at"], row["sent"], row["groups"])


@dataclass(frozen=True, slots=True)
class RestOfRun:
    """A reminder made of the rest of a run, under its present name."""

    id: ReminderId
    name: str


async def note_rest(connection: Connection, reminder: ReminderId, run: RunId, name: str) -> None:
    """A reminder was made of the rest of *run*; its groups were left to it under that name."""
    await connection.execute("UPDATE reminders SET rest_of = $2, rest_as = $3 WHERE id = $1", reminder, run, name)


async def name_account(connection: Connection, account: AccountId, name: str) -> None:
    """The reminders of an account name it in their documents: write its new name there."""
    await connection.execute(
        "UPDATE reminders SET written = jsonb_set(written, '{account}', to_jsonb($2::text)) WHERE account = $1",
        account, name,
    )  # fmt: skip


async def rests_of(connection: Connection, run: RunId) -> list[RestOfRun]:
    """The reminders that were made of the rest of a run and still exist."""
    return [RestOfRun(**row) for row in await connection.fetch(
        "SELECT id, name FROM reminders WHERE rest_of = $1 ORDER BY id", run
    )]  # fmt: skip


def _kept(row: asyncpg.Record) -> KeptReminder:
    return KeptReminder(
        id=ReminderId(row["id"]),
        name=row["name"],
        account=AccountId(row["account"]),
        account_name=row["account_name"],
        platform=platform_named(row["platform"]),
        written=row["written"],
        due_at=row["due_at"],
        doubtful=row["doubtful"],
        files=dict(zip(row["file_names"] or (), row["file_hashes"] or (), strict=True)),
        sizes=dict(zip(row["file_names"] or (), row["file_sizes"] or (), strict=True)),
        everything_is_paused=row["everything_is_paused"],
        now=row["now"],
    )
