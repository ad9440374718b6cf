"""Which channels are in which state of their mirror, and how many are up to date.

A copy is as new as the last check of the account that reads the channel.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from tidegate.channels.rules.mirror_state import MirrorState
from tidegate.core.ids import AccountId
from tidegate.database.pool import Connection


async def accounts_behind(connection: Connection, checked_within: Mapping[str, timedelta]) -> list[AccountId]:
    """The accounts whose last check is too long ago; *checked_within* has the time that is fine on each platform."""
    rows = await connection.fetch(
        """
        SELECT a.id FROM accounts a
        JOIN unnest($1::text[], $2::interval[]) AS most (platform, unchecked) ON most.platform = a.platform
        LEFT JOIN LATERAL (
            SELECT ended_at FROM cycles WHERE account = a.id ORDER BY id DESC LIMIT 1
        ) AS last ON true
        WHERE coalesce(last.ended_at, a.made_at) < (SELECT clock_now()) - most.unchecked
        """,
        list(checked_within), list(checked_within.values()),
    )  # fmt: skip
    return [AccountId(row["id"]) for row in rows]


_MOVED = "c.id IN (SELECT id FROM channels WHERE moved_to IS NOT NULL)"
_NEVER_READ = """c.id IN (
    SELECT channel FROM places WHERE (never_scanned OR asked) AND (topic = 0 OR selected) AND topic = 0
        AND never_scanned)
"""
_READABLE = f"c.enabled AND c.state = 'ok' AND c.reader IS NOT NULL AND NOT ({_MOVED})"

CONDITIONS: Mapping[MirrorState, str] = {
    MirrorState.CURRENT: f"{_READABLE} AND c.reader <> ALL(${{}}::bigint[]) AND NOT ({_NEVER_READ})",
    MirrorState.BEHIND: f"{_READABLE} AND c.reader = ANY(${{}}::bigint[]) AND NOT ({_NEVER_READ})",
    MirrorState.NEW: f"{_READABLE} AND {_NEVER_READ} AND ${{}}::bigint[] IS NOT NULL",
    MirrorState.UNREADABLE: (
        f"c.enabled AND (c.state <> 'ok' OR c.reader IS NULL OR {_MOVED}) AND ${{}}::bigint[] IS NOT NULL"
    ),
    MirrorState.TROUBLE: (
        f"(c.state <> 'ok' OR {_MOVED} OR c.enabled AND (c.reader IS NULL OR c.reader = ANY(${{}}::bigint[])))"
    ),
}
"""The condition on a channel ``c`` for each of them; its one argument are the accounts that are behind."""


@dataclass(frozen=True, slots=True)
class MirrorCounts:
    """How many channels are mirrored, without threads, and how many of them are up to date."""

    mirrored: int
    current: int


async def counts(connection: Connection, behind: Collection[AccountId]) -> MirrorCounts:
    """The sums for Home: what is readable is counted by its index, and what was never read is taken off it."""
    row = await connection.fetchrow(
        f"""
        SELECT count(*) AS mirrored,
            count(*) FILTER (WHERE c.state = 'ok' AND c.reader <> ALL($1::bigint[]))
            - (SELECT count(*) FROM channels c WHERE {_NEVER_READ} AND c.enabled AND c.kind <> 'thread'
               AND c.state = 'ok' AND c.reader <> ALL($1::bigint[]))
            - (SELECT count(*) FROM channels c WHERE c.moved_to IS NOT NULL AND c.enabled AND c.kind <> 'thread'
               AND c.state = 'ok' AND c.reader <> ALL($1::bigint[]) AND NOT ({_NEVER_READ})) AS current
        FROM channels c WHERE c.enabled AND c.kind <> 'thread'
        """,
        list(behind),
    )
    assert row is not None
    return MirrorCounts(**row)
