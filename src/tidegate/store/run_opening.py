"""Freezing a run: every target and part is a row before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.rules.delivering import RunState, WhenUnknown
from tidegate.rules.window import Opening, Window
from tidegate.store.bell import mark
from tidegate.store.database import Connection
from tidegate.words import AccountId, ReminderId, RunId


@dataclass(frozen=True, slots=True)
class NewTarget:
    """A group of a run. With an *error* it has failed before anything was sent."""

    channel: int | None
    title: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class NewPart:
    """What every target gets as its message of that place, but for the text."""

    kind: str
    media: bytes | None = None
    file_name: str | None = None


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run as it is to be frozen. *texts* are those of all parts, target after target."""

    reminder: ReminderId | None
    name: str
    account: AccountId
    test: bool
    due_at: datetime | None
    window: Window
    opening: Opening
    waits: bool
    paused_by: str | None
    resumes_next: bool
    finishes_begun: bool
    when_unknown: WhenUnknown
    targets: Sequence[NewTarget]
    parts: Sequence[NewPart]
    texts: Sequence[str]


async def open_run(connection: Connection, new: NewRun) -> RunId | None:
    """Freeze a run with all its targets and parts; None when this firing was opened before. Inside a transaction."""
    number = await connection.fetchval(
        """
        WITH opened AS (
            INSERT INTO runs (reminder, name, account, test, due_at, start_hour, end_hour, timezone, when_window_closes,
                              when_unknown, begun_target, state, opens_at, closes_at, paused_by, paused_at)
            SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                CASE WHEN held.by IS NULL THEN $12 ELSE 'paused' END, $13, $14, held.by,
                CASE WHEN held.by IS NOT NULL THEN clock_now() END
            FROM (SELECT coalesce($15, CASE WHEN runs_paused_at IS NOT NULL THEN 'everything' END) AS by
                  FROM house FOR SHARE) AS held
            ON CONFLICT (reminder, due_at) DO NOTHING
            RETURNING id
        ), targets AS (
            INSERT INTO run_targets (run, number, channel, title)
            SELECT o.id, t.number, t.channel, t.title
            FROM opened o, unnest($16::bigint[], $17::text[]) WITH ORDINALITY AS t (channel, title, number)
        ), parts AS (
            INSERT INTO run_parts (run, target, number, kind, text, media, file_name, state, error)
            SELECT o.id, e.number, k.number, k.kind, x.text, k.media, k.file_name,
                CASE WHEN e.error = '' THEN 'pending' ELSE 'failed' END, e.error
            FROM opened o,
                unnest($18::text[]) WITH ORDINALITY AS x (text, place)
                JOIN unnest($19::text[], $20::bytea[], $21::text[]) WITH ORDINALITY
                    AS k (kind, media, file_name, number)
                    ON k.number = (x.place - 1) % cardinality($19::text[]) + 1
                JOIN unnest($22::text[]) WITH ORDINALITY AS e (error, number)
                    ON e.number = (x.place - 1) / cardinality($19::text[]) + 1
        ), told AS (
            INSERT INTO events (kind, subject, data)
            SELECT 'run.opened', $2, $23::jsonb || jsonb_build_object('run', id) FROM opened
        )
        SELECT id FROM opened
        """,
        new.reminder, new.name, new.account, new.test, new.due_at,
        new.window.start_hour, new.window.end_hour, new.window.zone.key,
        "resume_next" if new.resumes_next else "stop", new.when_unknown.value,
        "finish" if new.finishes_begun else "strict",
        (RunState.WAITING if new.waits else RunState.RUNNING).value, new.opening.opens, new.opening.closes,
        new.paused_by,
        [one.channel for one in new.targets], [one.title for one in new.targets], list(new.texts),
        [one.kind for one in new.parts], [one.media for one in new.parts], [one.file_name for one in new.parts],
        [one.error for one in new.targets],
        {"targets": len(new.targets), "parts": len(new.texts), "test": new.test},
    )  # fmt: skip
    mark(connection)
    return None if number is None else RunId(number)
