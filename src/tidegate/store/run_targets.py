"""What became of each target of a run, for people and scripts to see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.errors import BadInput
from tidegate.port import ChannelId
from tidegate.rules.delivering import PartState, TargetState
from tidegate.rules.numbering import as_number, means
from tidegate.store.database import Connection
from tidegate.words import RunId


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One message to one target, as people see it."""

    number: int
    kind: str
    text: str
    file_name: str | None
    state: PartState
    attempts: int
    error: str
    message: str | None
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """One target of a run. *channel* is the platform's number of the group; *latency* is what its sends took."""

    number: int
    channel: ChannelId | None
    title: str
    state: TargetState
    error: str
    latency: timedelta | None
    parts: Sequence[ShownPart]

    @property
    def latency_ms(self) -> int | None:
        return None if self.latency is None else round(self.latency / timedelta(milliseconds=1))


async def of_run(
    connection: Connection, run: RunId, *, state: TargetState | None = None, after: int = 0, limit: int | None = None
) -> list[ShownTarget]:
    """The targets of a run in order, with their parts; those in one *state*, and some *after* another, where given."""
    targets = await connection.fetch(
        """
        SELECT s.number, c.number AS channel, s.title, s.state, s.error, s.latency
        FROM run_target_states s LEFT JOIN channels c ON c.id = s.channel
        WHERE s.run = $1 AND ($2::text IS NULL OR s.state = $2) AND s.number > $3
        ORDER BY s.number
        LIMIT $4
        """,
        run, state.value if state else None, after, limit,
    )  # fmt: skip
    rows = await connection.fetch(
        """
        SELECT target, number, kind, text, file_name, state, attempts, error, message, sent_at
        FROM run_parts WHERE run = $1 AND target = ANY($2) ORDER BY target, number
        """,
        run, [one["number"] for one in targets],
    )  # fmt: skip
    parts: dict[int, list[ShownPart]] = {}
    for row in rows:
        values = dict(row)
        target = values.pop("target")
        parts.setdefault(target, []).append(ShownPart(**{**values, "state": PartState(values["state"])}))
    return [
        ShownTarget(**{**dict(one), "state": TargetState(one["state"]), "parts": parts[one["number"]]})
        for one in targets
    ]


async def part_counts(connection: Connection, run: RunId) -> Counter[PartState]:
    """How many parts of a run are in which state."""
    rows = await connection.fetch("SELECT state, count(*) FROM run_parts WHERE run = $1 GROUP BY state", run)
    return Counter({PartState(row["state"]): row["count"] for row in rows})


async def called(connection: Connection, run: RunId, names: Sequence[str]) -> list[int]:
    """The numbers of a run's targets by the groups' titles or the platform's numbers, or a sentence."""
    rows = await connection.fetch(
        """
        SELECT t.number, t.title, c.number AS channel
        FROM run_targets t LEFT JOIN channels c ON c.id = t.channel
        WHERE t.run = $1 AND (t.title = ANY($2) OR c.number::text = ANY($3))
        """,
        run, list(names), [as_number(name) for name in names],
    )  # fmt: skip
    found = []
    for name in names:
        meant = [row["number"] for row in rows if means(name, row["title"], row["channel"])]
        if not meant:
            raise BadInput(f'Run {run} goes to no group "{name}". See them with: tidegate runs show {run}')
        found += meant
    return found
