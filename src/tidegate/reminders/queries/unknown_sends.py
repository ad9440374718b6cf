"""Parts with an unknown outcome, until an arrival, a policy or a person resolves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tidegate.core.ids import AccountId, ChannelId, RunId, TargetNumber
from tidegate.database.pool import Connection
from tidegate.events.kinds.runs import RunResent
from tidegate.events.queries import feed
from tidegate.platforms.interface import SendKey
from tidegate.reminders.queries.run_parts import RunPartPosition, place_of
from tidegate.reminders.rules.send_states import MOVES, SendState, WhenUnknown

LEFT_OUT = "left out by a person"


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A part that was being sent when its worker died."""

    place: RunPartPosition
    tries: int  # how often it was claimed
    claimed_ago: timedelta  # the age of its oldest unanswered try
    when_unknown: WhenUnknown


async def left_behind(connection: Connection, account: AccountId) -> list[LeftBehind]:
    """The parts that an account's runs were sending when its worker ended."""
    rows = await connection.fetch(
        """
        SELECT p.run, p.target, p.number, p.attempts, r.when_unknown,
            clock_now() - coalesce(p.doubtful_since, p.claimed_at) AS claimed_ago
        FROM runs r JOIN run_parts p ON p.run = r.id
        WHERE r.account = $1 AND r.state <> 'ended' AND p.state = 'sending'
        ORDER BY p.run, p.target, p.number
        """,
        account,
    )
    return [
        LeftBehind(place_of(row), row["attempts"], row["claimed_ago"], WhenUnknown(row["when_unknown"])) for row in rows
    ]


async def resend(connection: Connection, place: RunPartPosition, error: str) -> None:
    """Have a part that was being sent tried again under its key; note that its first try may have arrived."""
    await connection.execute(
        """
        UPDATE run_parts SET state = 'pending', error = $4, doubtful_since = coalesce(doubtful_since, claimed_at)
        WHERE run = $1 AND target = $2 AND number = $3 AND state = 'sending'
        """,
        place.run, place.target, place.number, error,
    )  # fmt: skip


async def doubt(connection: Connection, place: RunPartPosition, error: str) -> None:
    """The outcome of a part that was being sent is unknown."""
    await connection.execute(
        "UPDATE run_parts SET state = 'unknown', error = $4 "
        "WHERE run = $1 AND target = $2 AND number = $3 AND state = 'sending'",
        place.run, place.target, place.number, error,
    )  # fmt: skip


_IN_CHAT = """
    FROM runs r
    JOIN run_targets t ON t.run = r.id
    JOIN channels c ON c.id = t.channel AND c.number = $2
    JOIN run_parts p ON p.run = t.run AND p.target = t.number
    WHERE r.account = $1 AND r.state <> 'ended'
"""


async def handed_over(connection: Connection, account: AccountId, channel: ChannelId) -> dict[RunPartPosition, SendKey]:
    """The parts that an account's open runs have sent to one chat and whose arrival is not known, each with its key.

    These are unknown parts, parts that wait for their answer, and parts that are to be tried again.
    """
    rows = await connection.fetch(
        f"""
        SELECT p.run, p.target, p.number, p.key {_IN_CHAT}
          AND (p.state IN ('unknown', 'sending') OR p.state = 'pending' AND p.attempts > 0)
        ORDER BY p.claimed_at
        """,
        account, channel,
    )  # fmt: skip
    return {place_of(row): SendKey(row["key"]) for row in rows}


async def is_sent(connection: Connection, account: AccountId, channel: ChannelId, message: str) -> bool:
    """Whether that message of an open run is known to have arrived in the chat."""
    found = await connection.fetchval(
        f"SELECT EXISTS (SELECT 1 {_IN_CHAT} AND p.state = 'sent' AND p.message = $3)",
        account, channel, message,
    )  # fmt: skip
    return bool(found)


async def note_arrived(connection: Connection, place: RunPartPosition, message: str) -> bool:
    """A part that was sent has arrived; False when its own answer was stored first."""
    done = await connection.fetchval(
        """
        UPDATE run_parts
        SET state = 'sent', sent_at = clock_now(), message = $4, error = '', doubtful_since = NULL,
            maybe_twice = CASE WHEN state = 'pending' AND attempts = 1 THEN '' ELSE maybe_twice END
        WHERE run = $1 AND target = $2 AND number = $3
          AND (state IN ('unknown', 'sending') OR state = 'pending' AND attempts > 0)
        RETURNING true
        """,
        place.run, place.target, place.number, message,
    )  # fmt: skip
    return bool(done)


async def resolve(
    connection: Connection,
    run: RunId,
    state: SendState,
    *,
    targets: Sequence[TargetNumber] | None = None,
) -> int:
    """Give the unknown parts of a run, or of some of its *targets*, a known state; returns how many there were."""
    assert state in MOVES[SendState.UNKNOWN]
    rows = await connection.fetch(
        """
        UPDATE run_parts
        SET state = $2, doubtful_since = NULL,
            maybe_twice = CASE WHEN $2 = 'pending' THEN error ELSE maybe_twice END,
            sent_at = CASE WHEN $2 = 'sent' THEN clock_now() END,
            error = CASE WHEN $2 = 'skipped' THEN $4 ELSE '' END
        WHERE run = $1 AND state = 'unknown' AND ($3::integer[] IS NULL OR target = ANY($3))
        RETURNING run, target, number, maybe_twice
        """,
        run, state.value, targets, LEFT_OUT,
    )  # fmt: skip
    if state is SendState.PENDING:
        for row in rows:
            await _tell_resent(connection, place_of(row), row["maybe_twice"])
    if state is SendState.SKIPPED:  # what was to follow would come out of order
        await connection.execute(
            "UPDATE run_parts SET state = 'skipped', error = $3 "
            "WHERE run = $1 AND target = ANY($2) AND state = 'pending'",
            run, [row["target"] for row in rows], LEFT_OUT,
        )  # fmt: skip
    return len(rows)


async def note_resent(connection: Connection, place: RunPartPosition, why: str) -> None:
    """A doubtful part is sent again: its group may get it twice, and *why* says what was not known."""
    await connection.execute(
        "UPDATE run_parts SET maybe_twice = $4 WHERE run = $1 AND target = $2 AND number = $3",
        place.run, place.target, place.number, why,
    )  # fmt: skip
    await _tell_resent(connection, place, why)


async def _tell_resent(connection: Connection, place: RunPartPosition, why: str) -> None:
    row = await connection.fetchrow(
        "SELECT r.name, t.title FROM runs r JOIN run_targets t ON t.run = r.id WHERE r.id = $1 AND t.number = $2",
        place.run, place.target,
    )  # fmt: skip
    assert row is not None  # a part belongs to a target of its run
    resent = RunResent(run=place.run, target=row["title"], part=place.number, why=why)
    await feed.record(connection, row["name"], resent)
