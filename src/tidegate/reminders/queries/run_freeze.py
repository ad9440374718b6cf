"""Freezing a run: every target and part is a row before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import AccountId, ChannelKey, ReminderId, RunId
from tidegate.database.notifier import mark
from tidegate.database.pool import Connection
from tidegate.events.kinds.runs import RunOpened
from tidegate.lanes.rules.send_hours import SendWindow, WindowDay
from tidegate.reminders.rules.run_summary import RunState
from tidegate.reminders.rules.send_states import WhenUnknown

PIECE = 200_000
"""About how many characters of texts one statement takes; preparing them blocks the event loop for some 5 ms."""

_TEXT_COSTS = 100  # a short text costs as much as a text of this many characters


@dataclass(frozen=True, slots=True)
class NewTarget:
    """A group of a run. With an *error* it has failed before anything was sent."""

    channel: ChannelKey | None
    title: str
    error: str = ""
    server: str = ""
    parent_title: str = ""


@dataclass(frozen=True, slots=True)
class NewRunPart:
    """What every target gets as one of its messages, without the text."""

    kind: str
    media: bytes | None = None
    file_name: str | None = None


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run before it is frozen. *texts* are those of all parts, target after target."""

    reminder: ReminderId | None
    name: str
    account: AccountId
    test: bool
    due_at: datetime | None
    window: SendWindow
    opening: WindowDay
    waits: bool
    paused_by: str | None
    resumes_next: bool
    finishes_begun: bool
    when_unknown: WhenUnknown
    targets: Sequence[NewTarget]
    parts: Sequence[NewRunPart]
    texts: Sequence[str]


_FROZEN = """
    targets AS (
        INSERT INTO run_targets (run, number, channel, title)
        SELECT o.id, $1 + t.number, t.channel, t.title
        FROM opened o, unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS t (channel, title, number)
    ), parts AS (
        INSERT INTO run_parts (run, target, number, kind, text, media, file_name, state, error)
        SELECT o.id, $1 + e.number, k.number, k.kind, x.text, k.media, k.file_name,
            CASE WHEN e.error = '' THEN 'pending' ELSE 'failed' END, e.error
        FROM opened o,
            unnest($4::text[]) WITH ORDINALITY AS x (text, place)
            JOIN unnest($5::text[], $6::bytea[], $7::text[]) WITH ORDINALITY AS k (kind, media, file_name, number)
                ON k.number = (x.place - 1) % cardinality($5::text[]) + 1
            JOIN unnest($8::text[]) WITH ORDINALITY AS e (error, number)
                ON e.number = (x.place - 1) / cardinality($5::text[]) + 1
    )
"""
"""Some targets of the run *opened*, with all their parts; ``_piece`` gives its arguments."""


async def open_run(connection: Connection, new: NewRun) -> RunId | None:
    """Freeze a run with all its targets and parts; None when this firing was opened before. Inside a transaction."""
    pieces = _pieces(new)
    # Recorded by the statement that opens the run, for one query less; only that one knows the run's number.
    event = RunOpened(run=RunId(0), targets=len(new.targets), parts=len(new.texts), test=new.test)
    number = await connection.fetchval(
        f"""
        WITH opened AS (
            INSERT INTO runs (reminder, name, account, test, due_at, start_hour, end_hour, timezone, when_window_closes,
                              when_unknown, begun_target, state, opens_at, closes_at, paused_by, paused_at)
            SELECT $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
                CASE WHEN held.by IS NULL THEN $20 ELSE 'paused' END, $21, $22, held.by,
                CASE WHEN held.by IS NOT NULL THEN clock_now() END
            FROM (SELECT coalesce($23, CASE WHEN runs_paused_at IS NOT NULL THEN 'everything' END) AS by
                  FROM house FOR SHARE) AS held
            ON CONFLICT (reminder, due_at) DO NOTHING
            RETURNING id
        ), {_FROZEN}, recorded AS (
            INSERT INTO events (kind, subject, data)
            SELECT $24, $10, $25::jsonb || jsonb_build_object('run', id) FROM opened
        )
        SELECT id FROM opened
        """,
        *_piece(new, next(pieces, range(0))),
        new.reminder, new.name, new.account, new.test, new.due_at,
        new.window.start_hour, new.window.end_hour, new.window.zone.key,
        "resume_next" if new.resumes_next else "stop", new.when_unknown.value,
        "finish" if new.finishes_begun else "strict",
        (RunState.WAITING if new.waits else RunState.RUNNING).value, new.opening.opens, new.opening.closes,
        new.paused_by,
        event.kind, event.as_json(),
    )  # fmt: skip
    if number is None:
        return None
    for piece in pieces:
        further = f"WITH opened AS (SELECT $9::bigint AS id), {_FROZEN} SELECT"
        await connection.execute(further, *_piece(new, piece), number)
    mark(connection)
    return RunId(number)


def _pieces(new: NewRun) -> Iterator[range]:
    """The run's targets in pieces that are small enough not to block the event loop."""
    first = size = 0
    for place in range(len(new.targets)):
        texts = _texts(new, range(place, place + 1))
        added = max(len(texts) * _TEXT_COSTS, sum(map(len, texts)))
        if size + added > PIECE and place > first:
            yield range(first, place)
            first, size = place, 0
        size += added
    if first < len(new.targets):
        yield range(first, len(new.targets))


def _texts(new: NewRun, targets: range) -> Sequence[str]:
    return new.texts[targets.start * len(new.parts) : targets.stop * len(new.parts)]


def _piece(new: NewRun, piece: range) -> Sequence[object]:
    targets = new.targets[piece.start : piece.stop]
    return (
        piece.start, [one.channel for one in targets], [one.title for one in targets], _texts(new, piece),
        [one.kind for one in new.parts], [one.media for one in new.parts], [one.file_name for one in new.parts],
        [one.error for one in targets],
    )  # fmt: skip
