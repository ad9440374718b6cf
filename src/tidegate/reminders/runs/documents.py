"""The JSON documents of runs, for ``tidegate runs`` and the API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from tidegate.core.ids import ChannelId, RunId
from tidegate.core.json_fields import Instant, instant
from tidegate.database.pool import Connection
from tidegate.reminders.queries import run_targets, runs
from tidegate.reminders.queries.run_targets import ShownTarget
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.send_states import SendState


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many are in which state."""

    pending: int = 0
    sending: int = 0
    sent: int = 0
    failed: int = 0
    skipped: int = 0
    unknown: int = 0


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A firing of a reminder, its state, and its groups counted by state."""

    id: RunId
    reminder: str
    account: str
    test: bool
    state: str
    paused_by: str | None
    cause: str | None
    held_until: Instant | None
    behind: int | None
    status: str | None
    error_summary: str
    due_at: Instant | None
    fired_at: Instant
    opens_at: Instant
    closes_at: Instant
    ended_at: Instant | None
    counts: Counts


@dataclass(frozen=True, kw_only=True)
class RunPartRow:
    """One message to one group."""

    kind: str
    state: str
    attempts: int
    error: str | None
    maybe_twice: str | None


@dataclass(frozen=True, kw_only=True)
class TargetRow:
    """The result of one group; *channel* is its id on the platform, null when the group no longer exists.

    *maybe_twice* says why it may have a message twice: the outcome of a try was unknown, and it was sent again.
    """

    target: str
    channel: ChannelId | None
    state: str
    error: str | None
    latency_ms: int | None
    maybe_twice: str | None
    parts: list[RunPartRow]


@dataclass(frozen=True, kw_only=True)
class RunShown(RunRow):
    """A run with its messages counted by state, the files it had to upload, and its groups."""

    parts: Counts
    uploads: int
    targets: list[TargetRow]


async def run_rows(connection: Connection, found: Sequence[Run]) -> list[RunRow]:
    """Runs with their counts: stored where they have ended, counted now where they are open."""
    counted = await runs.counts(connection, [run.id for run in found if run.counts is None])
    return [_row(run, run.counts if run.counts is not None else _named(counted[run.id])) for run in found]


async def run_shown(connection: Connection, run: Run, targets: Sequence[ShownTarget]) -> RunShown:
    """A run with those of its targets that are to be shown."""
    [row] = await run_rows(connection, [run])
    parts = await run_targets.run_part_counts(connection, run.id)
    fields = {**asdict(row), "counts": row.counts, "parts": _counts(_named(parts)), "uploads": run.uploads}
    return RunShown(**fields, targets=[_target(one) for one in targets])


def _row(run: Run, counts: Mapping[str, int]) -> RunRow:
    return RunRow(
        id=run.id,
        reminder=run.name,
        account=run.account_name,
        test=run.test,
        state=run.state.value,
        paused_by=run.paused_by,
        cause=run.cause or None,
        held_until=instant(run.held_until),
        behind=run.behind,
        status=run.status.value if run.status else None,
        error_summary=run.error_summary,
        due_at=instant(run.due_at),
        fired_at=run.fired_at.isoformat(),
        opens_at=run.opening.opens.isoformat(),
        closes_at=run.opening.closes.isoformat(),
        ended_at=instant(run.ended_at),
        counts=_counts(counts),
    )


def _named(counts: Counter[SendState] | Counter[SendState]) -> dict[str, int]:
    return {state.value: count for state, count in counts.items()}


def _counts(counts: Mapping[str, int]) -> Counts:
    return Counts(**{one.name: counts.get(one.name, 0) for one in fields(Counts)})


def _target(one: ShownTarget) -> TargetRow:
    return TargetRow(
        target=one.title,
        channel=one.channel,
        state=one.state.value,
        error=one.error or None,
        latency_ms=one.latency_ms,
        maybe_twice=one.maybe_twice or None,
        parts=[
            RunPartRow(
                kind=part.kind,
                state=part.state.value,
                attempts=part.attempts,
                error=part.error or None,
                maybe_twice=part.maybe_twice or None,
            )
            for part in one.parts
        ],
    )
