"""Parts of which nobody knows whether they arrived: left behind by a crash, or unanswered, until somebody can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.port import ChannelId
from tidegate.rules.delivering import PartState, WhenUnknown
from tidegate.store.database import Connection
from tidegate.store.run_parts import Place, place_of
from tidegate.words import AccountId, RunId

LEFT_OUT = "left out by a person"


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A part that was being sent when its worker died; *claimed_ago* is the age of its oldest unanswered try."""

    place: Place
    tries: int
    claimed_ago: timedelta
    when_unknown: WhenUnknown


async def left_behind(connection: Connection, account: AccountId) -> list[LeftBehind]:
    """What an account's runs were sending when nobody served it any more."""
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


async def resend(connection: Connection, place: Place, error: str) -> None:
    """Have a part that was being sent tried again under its key; that its first try may have arrived is kept."""
    await connection.execute(
        """
        UPDATE run_parts SET state = 'pending', error = $4, doubtful_since = coalesce(doubtful_since, claimed_at)
        WHERE run = $1 AND target = $2 AND number = $3 AND state = 'sending'
        """,
        place.run, place.target, place.number, error,
    )  # fmt: skip


async def doubt(connection: Connection, place: Place, error: str) -> None:
    """Nobody knows what became of a part that was being sent."""
    await connection.execute(
        "UPDATE run_parts SET state = 'unknown', error = $4 "
        "WHERE run = $1 AND target = $2 AND number = $3 AND state = 'sending'",
        place.run, place.target, place.number, error,
    )  # fmt: skip


async def meant(
    connection: Connection, account: AccountId, channel: ChannelId, message: str, at: datetime
) -> Place | None:
    """The one unknown part that a late word about a message can mean; where several could be, nobody guesses."""
    rows = await connection.fetch(
        """
        SELECT p.run, p.target, p.number, p.message
        FROM runs r
        JOIN run_targets t ON t.run = r.id
        JOIN channels c ON c.id = t.channel AND c.number = $2
        JOIN run_parts p ON p.run = t.run AND p.target = t.number
        WHERE r.account = $1 AND r.state <> 'ended' AND p.state = 'unknown' AND p.claimed_at <= $4
          AND (p.message = $3 OR p.message IS NULL)
          AND NOT EXISTS (SELECT FROM run_parts o WHERE o.run = p.run AND o.target = p.target AND o.message = $3
                          AND o.number <> p.number)
        ORDER BY p.message IS NULL, p.claimed_at
        """,
        account, channel, message, at,
    )  # fmt: skip
    if not rows or (len(rows) > 1 and rows[0]["message"] is None):
        return None
    return place_of(rows[0])


async def settle(
    connection: Connection,
    run: RunId,
    state: PartState,
    *,
    targets: Sequence[int] | None = None,
    message: str | None = None,
) -> int:
    """Move what is unknown of a run, or of some of its *targets*, to a state that is known; returns how many parts."""
    rows = await connection.fetch(
        """
        UPDATE run_parts
        SET state = $2, message = coalesce($4, message), doubtful_since = NULL,
            sent_at = CASE WHEN $2 = 'sent' THEN clock_now() END,
            error = CASE WHEN $2 = 'skipped' THEN $5 ELSE '' END
        WHERE run = $1 AND state = 'unknown' AND ($3::integer[] IS NULL OR target = ANY($3))
        RETURNING target
        """,
        run, state.value, targets, message, LEFT_OUT,
    )  # fmt: skip
    if state is PartState.SKIPPED:  # what was to follow would come out of order
        await connection.execute(
            "UPDATE run_parts SET state = 'skipped', error = $3 "
            "WHERE run = $1 AND target = ANY($2) AND state = 'pending'",
            run, [row["target"] for row in rows], LEFT_OUT,
        )  # fmt: skip
    return len(rows)
