"""The parts of a run, one message to one target each: claimed, and changed by their results (claim-before-send).

Every change names the state and the try it expects, so a late write of an old owner changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import asyncpg

from tidegate.core.account import Claim
from tidegate.core.ids import AccountId, ChannelId, RunId, TargetNumber
from tidegate.database.pool import Connection
from tidegate.lanes.rules.send_hours import GRACE
from tidegate.platforms.interface import SendKey
from tidegate.platforms.interface.uploads import Media, MediaKind
from tidegate.reminders.rules.send_states import MOVES, SendState


class ClaimAnswer(StrEnum):
    """Whether a part may be sent now, and if not, why."""

    GO = "go"
    NOT_OPEN = "the window is not open yet"
    CLOSED = "the window has closed"
    STOPPED = "the run is paused or over"
    STALE = "an earlier try is too old to be recognised by the platform"
    TAKEN = "somebody else has it"


@dataclass(frozen=True, slots=True)
class RunPartPosition:
    """Which part of which target of which run."""

    run: RunId
    target: TargetNumber  # the number of the group among those of the run
    number: int  # the number of the message among those that every group gets


@dataclass(frozen=True, slots=True)
class RunPart:
    """One message to one target. *waits_for* is how long it must not be tried; *tries* counts its claims."""

    place: RunPartPosition
    channel: ChannelId | None
    title: str
    text: str
    media: Media | None
    key: SendKey
    state: SendState
    tries: int
    waits_for: timedelta
    doubtful: bool


async def of_run(connection: Connection, run: RunId) -> list[RunPart]:
    """All parts of a run, target by target, in order."""
    rows = await connection.fetch(
        """
        SELECT p.*, t.title, c.number AS channel, m.size, m.mime,
            greatest(coalesce(p.not_before - clock_now(), '0'), '0') AS waits_for
        FROM run_parts p
        JOIN run_targets t ON t.run = p.run AND t.number = p.target
        LEFT JOIN channels c ON c.id = t.channel
        LEFT JOIN media m ON m.sha256 = p.media
        WHERE p.run = $1
        ORDER BY p.target, p.number
        """,
        run,
    )
    return [_part(row) for row in rows]


async def claim(
    connection: Connection, place: RunPartPosition, *, recognises_for: timedelta | None
) -> tuple[ClaimAnswer, int]:
    """Change a part from pending to sending, if its run may send now by the database's clock; also which try that is.

    Call it in the transaction that charges the pace. The run's row is locked, so a pause that was confirmed holds.
    *recognises_for* is how long the platform recognises a repeated send by its key; None is always.
    """
    row = await connection.fetchrow(
        """
        WITH may AS (
            SELECT r.state = 'running' AND r.cancelled_at IS NULL AS runs, r.opens_at <= clock_now() AS is_open,
                clock_now() >= r.closes_at
                    + CASE WHEN r.begun_target = 'finish' AND $3 > 1 THEN $4::interval ELSE '0' END AS is_shut
            FROM runs r WHERE r.id = $1
            FOR SHARE
        ), stale AS (
            SELECT FROM run_parts
            WHERE run = $1 AND target = $2 AND number = $3 AND doubtful_since + $5::interval <= clock_now()
        ), taken AS (
            UPDATE run_parts p
            SET state = 'sending', attempts = p.attempts + 1, claimed_at = clock_now(), not_before = NULL, error = ''
            FROM may
            WHERE p.run = $1 AND p.target = $2 AND p.number = $3 AND p.state = 'pending'
              AND may.runs AND may.is_open AND NOT may.is_shut AND NOT EXISTS (SELECT FROM stale)
            RETURNING p.attempts
        )
        SELECT may.*, EXISTS (SELECT FROM stale) AS stale, (SELECT attempts FROM taken) AS tries FROM may
        """,
        place.run, place.target, place.number, GRACE, recognises_for,
    )  # fmt: skip
    if row is None or not row["runs"]:
        return ClaimAnswer.STOPPED, 0
    if row["tries"] is not None:
        return ClaimAnswer.GO, row["tries"]
    if not row["is_open"]:
        return ClaimAnswer.NOT_OPEN, 0
    if row["is_shut"]:
        return ClaimAnswer.CLOSED, 0
    return (ClaimAnswer.STALE if row["stale"] else ClaimAnswer.TAKEN), 0


async def mark_sent(
    connection: Connection, claim: Claim, place: RunPartPosition, tries: int, *, latency: timedelta, message: str | None
) -> bool:
    """The platform has accepted a part; False when another owner or try has changed it.

    Its arrival may have been noted before. Then only what this answer adds is stored.
    """
    done = await connection.fetchval(
        """
        UPDATE run_parts p
        SET state = 'sent', sent_at = clock_now(), latency = $6, message = $7, error = '', doubtful_since = NULL
        FROM accounts a
        WHERE p.run = $1 AND p.target = $2 AND p.number = $3 AND p.attempts = $4 AND a.id = $5 AND a.epoch = $8
          AND (p.state = 'sending' OR p.state = 'sent' AND p.latency IS NULL)
        RETURNING true
        """,
        place.run, place.target, place.number, tries, claim.account, latency, message, claim.epoch,
    )  # fmt: skip
    return bool(done)


async def is_sent(connection: Connection, place: RunPartPosition) -> bool:
    """Whether a part is known to have arrived."""
    found = await connection.fetchval(
        "SELECT state = 'sent' FROM run_parts WHERE run = $1 AND target = $2 AND number = $3",
        place.run, place.target, place.number,
    )  # fmt: skip
    return bool(found)


async def take_back(
    connection: Connection,
    claim: Claim,
    place: RunPartPosition,
    tries: int,
    *,
    wait: timedelta,
    doubtful: bool,
    error: str,
) -> bool:
    """A part is to be tried again after *wait*; *doubtful* when the try that ended may have arrived."""
    done = await connection.fetchval(
        """
        UPDATE run_parts p
        SET state = 'pending', not_before = clock_now() + $6, error = $7,
            doubtful_since = coalesce(p.doubtful_since, CASE WHEN $9 THEN p.claimed_at END)
        FROM accounts a
        WHERE p.run = $1 AND p.target = $2 AND p.number = $3 AND p.state = 'sending' AND p.attempts = $4
          AND a.id = $5 AND a.epoch = $8
        RETURNING true
        """,
        place.run, place.target, place.number, tries, claim.account, wait, error, claim.epoch, doubtful,
    )  # fmt: skip
    return bool(done)


async def close(
    connection: Connection,
    claim: Claim,
    place: RunPartPosition,
    state: SendState,
    error: str,
    *,
    expected: Collection[SendState] = (SendState.SENDING,),
) -> bool:
    """A part failed, or its outcome is unknown; after a failure the rest of its target is skipped."""
    assert all(state in MOVES[one] for one in expected)
    done = await connection.fetchval(
        """
        UPDATE run_parts p SET state = $5, error = $6, sent_at = CASE WHEN $5 = 'sent' THEN clock_now() END
        FROM accounts a
        WHERE p.run = $1 AND p.target = $2 AND p.number = $3 AND p.state = ANY($8) AND a.id = $4 AND a.epoch = $7
        RETURNING true
        """,
        place.run, place.target, place.number, claim.account, state.value, error, claim.epoch,
        [one.value for one in expected],
    )  # fmt: skip
    if done and state is SendState.FAILED:
        await connection.execute(
            "UPDATE run_parts SET state = 'skipped', error = 'an earlier part failed' "
            "WHERE run = $1 AND target = $2 AND number > $3 AND state = 'pending'",
            place.run, place.target, place.number,
        )  # fmt: skip
    return bool(done)


async def skip_pending(connection: Connection, run: RunId, error: str, *, begun: bool = True) -> int:
    """Skip what is still to be sent, for that reason; also of targets that have *begun*, or only of the others."""
    rows = await connection.fetch(
        """
        UPDATE run_parts p SET state = 'skipped', error = $2
        WHERE p.run = $1 AND p.state = 'pending'
          AND ($3 OR NOT EXISTS (SELECT FROM run_parts q
                                 WHERE q.run = p.run AND q.target = p.target AND q.state <> 'pending'))
        RETURNING 1
        """,
        run, error, begun,
    )  # fmt: skip
    return len(rows)


async def leave_to(connection: Connection, run: RunId, targets: Collection[TargetNumber], reminder: str) -> None:
    """Leave these targets to another reminder, for good: what is still to be sent to them is skipped."""
    await connection.execute(
        "UPDATE run_targets SET left_to = $3 WHERE run = $1 AND number = ANY($2)", run, list(targets), reminder
    )
    await connection.execute(
        "UPDATE run_parts SET state = 'skipped', error = $3 WHERE run = $1 AND target = ANY($2) AND state = 'pending'",
        run, list(targets), f'left to the reminder "{reminder}"',
    )  # fmt: skip


async def has_begun(connection: Connection, run: RunId) -> bool:
    """Whether a target of a run has got some of its parts and has others left to send."""
    found: bool = await connection.fetchval(
        """
        SELECT EXISTS (
            SELECT FROM run_parts p
            JOIN run_parts e ON e.run = p.run AND e.target = p.target AND e.number = p.number - 1
            WHERE p.run = $1 AND p.state = 'pending' AND e.state = 'sent'
        )
        """,
        run,
    )
    return found


async def has_arrived(connection: Connection, run: RunId, media: bytes) -> bool:
    """Whether any group of a run has got this file."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM run_parts WHERE run = $1 AND media = $2 AND state = 'sent')", run, media
    )
    return found


async def left_out(connection: Connection, run: RunId, error: str) -> int:
    """How many parts of a run were skipped for that reason."""
    found: int = await connection.fetchval(
        "SELECT count(*) FROM run_parts WHERE run = $1 AND state = 'skipped' AND error = $2", run, error
    )
    return found


async def fail_barred(connection: Connection, run: RunId, account: AccountId, error: str) -> int:
    """Fail the targets of a run in which its account may not post, before anything is sent to them."""
    rows = await connection.fetch(
        """
        UPDATE run_parts p SET state = 'failed', error = $3
        FROM run_targets t
        WHERE p.run = $1 AND p.state = 'pending' AND t.run = p.run AND t.number = p.target
          AND NOT EXISTS (SELECT FROM sights s WHERE s.account = $2 AND s.channel = t.channel AND s.may_post)
        RETURNING 1
        """,
        run, account, error,
    )  # fmt: skip
    return len(rows)


def place_of(row: asyncpg.Record) -> RunPartPosition:
    """The position of a row of parts."""
    return RunPartPosition(RunId(row["run"]), TargetNumber(row["target"]), row["number"])


def _part(row: asyncpg.Record) -> RunPart:
    media = None
    if row["media"] is not None:
        media = Media(row["media"], row["file_name"], row["mime"], row["size"], MediaKind(row["kind"]))
    return RunPart(
        place=place_of(row),
        channel=None if row["channel"] is None else ChannelId(row["channel"]),
        title=row["title"],
        text=row["text"],
        media=media,
        key=SendKey(row["key"]),
        state=SendState(row["state"]),
        tries=row["attempts"],
        waits_for=row["waits_for"],
        doubtful=row["doubtful_since"] is not None,
    )
