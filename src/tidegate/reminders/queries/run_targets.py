"""The result of each target of a run, for people and scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.channels.queries.channel_places import PLACED, PLACES
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, ChannelId, RunId, TargetNumber
from tidegate.database.pool import Connection
from tidegate.platforms.interface.group_numbers import NamedGroups, as_number
from tidegate.reminders.queries.run_freeze import NewRunPart
from tidegate.reminders.rules.send_states import SendState


@dataclass(frozen=True, slots=True)
class ShownRunPart:
    """One message to one target, as people see it."""

    number: int
    kind: str
    text: str
    file_name: str | None
    state: SendState
    attempts: int
    error: str
    message: str | None
    sent_at: datetime | None
    maybe_twice: str


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """One target of a run. *channel* is the group's id on the platform; *latency* is how long its sends took."""

    number: TargetNumber
    channel: ChannelId | None
    title: str
    state: SendState
    error: str
    latency: timedelta | None
    parts: Sequence[ShownRunPart]
    server: str = ""
    parent_title: str = ""

    @property
    def maybe_twice(self) -> str:
        """Why this group may have a message twice; empty where it has not."""
        return next((part.maybe_twice for part in self.parts if part.maybe_twice), "")

    @property
    def latency_ms(self) -> int | None:
        return None if self.latency is None else round(self.latency / timedelta(milliseconds=1))


_TROUBLED_FIRST = ["failed", "unknown", "sending", "pending", "skipped", "sent"]


async def of_run(
    connection: Connection,
    run: RunId,
    *,
    state: SendState | None = None,
    after: int = 0,
    limit: int | None = None,
    troubled_first: bool = False,
    skip: int = 0,
) -> list[ShownTarget]:
    """The targets of a run in order, with their parts; those in one *state*, and some *after* another, where given.

    *troubled_first* has those that need a person first and those that got everything last.
    """
    targets = await connection.fetch(
        f"""
        SELECT s.number, c.number AS channel, s.title, s.state, s.error, s.latency, {PLACED}
        FROM run_target_states s LEFT JOIN channels c ON c.id = s.channel {PLACES}
        WHERE s.run = $1 AND ($2::text IS NULL OR s.state = $2) AND s.number > $3
        ORDER BY CASE WHEN $5 THEN array_position($6::text[], s.state) END, s.number
        LIMIT $4 OFFSET $7
        """,
        run, state.value if state else None, after, limit, troubled_first, _TROUBLED_FIRST, skip,
    )  # fmt: skip
    rows = await connection.fetch(
        """
        SELECT target, number, kind, text, file_name, state, attempts, error, message, sent_at, maybe_twice
        FROM run_parts WHERE run = $1 AND target = ANY($2) ORDER BY target, number
        """,
        run, [one["number"] for one in targets],
    )  # fmt: skip
    parts: dict[int, list[ShownRunPart]] = {}
    for row in rows:
        values = dict(row)
        target = values.pop("target")
        parts.setdefault(target, []).append(ShownRunPart(**{**values, "state": SendState(values["state"])}))
    return [
        ShownTarget(**{**dict(one), "state": SendState(one["state"]), "parts": parts[one["number"]]}) for one in targets
    ]


@dataclass(frozen=True, slots=True)
class RunSpeed:
    """How fast a run goes: messages sent in the last minute, and those that are left."""

    last_minute: int
    left: int

    def ends_at(self, now: datetime) -> datetime | None:
        """When it is done at this speed; None while nothing was sent in the last minute."""
        return now + timedelta(minutes=self.left / self.last_minute) if self.last_minute and self.left else None


async def speed(connection: Connection, run: RunId) -> RunSpeed:
    """How many messages of a run went out in the last minute, and how many are left."""
    row = await connection.fetchrow(
        """
        SELECT
            count(*) FILTER (WHERE state = 'sent' AND sent_at > (SELECT clock_now()) - interval '1 minute')
                AS last_minute,
            count(*) FILTER (WHERE state IN ('pending', 'sending')) AS left
        FROM run_parts WHERE run = $1
        """,
        run,
    )
    assert row is not None  # a count always answers
    return RunSpeed(**row)


async def run_part_counts(connection: Connection, run: RunId) -> Counter[SendState]:
    """How many parts of a run are in which state."""
    rows = await connection.fetch("SELECT state, count(*) FROM run_parts WHERE run = $1 GROUP BY state", run)
    return Counter({SendState(row["state"]): row["count"] for row in rows})


async def called(connection: Connection, run: RunId, names: Sequence[str]) -> list[TargetNumber]:
    """The numbers of a run's targets by the groups' titles or ids; ``BadInput`` where a name means none."""
    rows = await connection.fetch(
        """
        SELECT t.number, t.title, c.number AS channel
        FROM run_targets t LEFT JOIN channels c ON c.id = t.channel
        WHERE t.run = $1 AND (t.title = ANY($2) OR c.number::text = ANY($3))
        """,
        run, list(names), [as_number(name) for name in names],
    )  # fmt: skip
    known = NamedGroups((row["title"], row["channel"], row["number"]) for row in rows)
    found: list[TargetNumber] = []
    for name in names:
        meant = known.meant_by(name)
        if not meant:
            raise BadInput(f'Run {run} goes to no group "{name}". See them with: tidegate runs show {run}')
        found += meant
    return found


@dataclass(frozen=True, slots=True)
class LeftTarget:
    """A target that has not got all of a run, with the text and state of each of its parts.

    *may_post* is whether another account may write there, None when it does not see the group. *doubtful* when a
    try of one of its parts may have arrived. *left_to* is the reminder that it was left to before.
    """

    number: TargetNumber
    title: str
    channel: ChannelId | None
    may_post: bool | None
    state: SendState
    texts: Sequence[str]
    states: Sequence[SendState]
    doubtful: bool
    left_to: str


async def left_of(connection: Connection, run: RunId, account: AccountId) -> list[LeftTarget]:
    """The targets of a run that have not got all of it, and whether *account* may write to them."""
    rows = await connection.fetch(
        """
        SELECT t.number, t.title, c.number AS channel, s.may_post, t.state,
            array_agg(p.text ORDER BY p.number) AS texts, array_agg(p.state ORDER BY p.number) AS states,
            bool_or(p.doubtful_since IS NOT NULL OR p.maybe_twice <> '') AS doubtful, w.left_to
        FROM run_target_states t
        JOIN run_targets w ON w.run = t.run AND w.number = t.number
        JOIN run_parts p ON p.run = t.run AND p.target = t.number
        LEFT JOIN channels c ON c.id = t.channel AND c.state <> 'deleted'
        LEFT JOIN sights s ON s.channel = c.id AND s.account = $2
        WHERE t.run = $1 AND t.state <> 'sent'
        GROUP BY t.number, t.title, c.number, s.may_post, t.state, w.left_to
        ORDER BY t.number
        """,
        run, account,
    )  # fmt: skip
    return [
        LeftTarget(
            **{
                **dict(row),
                "state": SendState(row["state"]),
                "states": [SendState(state) for state in row["states"]],
            }
        )
        for row in rows
    ]


async def frozen_run_parts(connection: Connection, run: RunId) -> list[NewRunPart]:
    """What every target of a run gets as its messages, without the texts, in order."""
    rows = await connection.fetch(
        "SELECT DISTINCT ON (number) kind, media, file_name FROM run_parts WHERE run = $1 ORDER BY number", run
    )
    return [NewRunPart(**row) for row in rows]


async def names_left_to(connection: Connection, run: RunId) -> set[str]:
    """The names of reminders that targets of a run were left to, and of existing ones made of it."""
    rows = await connection.fetch(
        "SELECT left_to AS name FROM run_targets WHERE run = $1 AND left_to <> '' "
        "UNION SELECT name FROM reminders WHERE rest_of = $1",
        run,
    )
    return {row["name"] for row in rows}


async def nobody_has(connection: Connection, run: RunId) -> int:
    """How many targets of a run got nothing and were left to no other reminder."""
    return int(
        await connection.fetchval(
            """
            SELECT count(*) FROM run_target_states t
            JOIN run_targets w ON w.run = t.run AND w.number = t.number AND w.left_to = ''
            WHERE t.run = $1 AND t.state IN ('pending', 'skipped', 'failed')
            """,
            run,
        )
    )
