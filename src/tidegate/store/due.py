"""Which places deserve calls in the next cycle, asked of the database whatever their number (seed 000).

``rules.scanning.decide_scan`` is the truth; this is its twin for a question over very many places, and a property test
holds the two together. The places are read in one pass without an index on ``last_scanned_at``: such an index would
have to be written again with every scan, and the pass over a million is short enough.
"""

from __future__ import annotations

from tidegate.rules.retrying import RetryHabits
from tidegate.rules.scanning import ScanHabits, Verdict
from tidegate.store import failures
from tidegate.store.database import Connection
from tidegate.store.places import count_failures
from tidegate.words import AccountId

_FOLLOWED = """
    c.reader = $1 AND c.enabled AND c.state <> 'unreadable'
    AND (p.topic = 0 OR (p.selected AND c.by_topic AND p.gone_at IS NULL))
"""

_WITHOUT_FAILURE = "WHEN p.last_scanned_at IS NULL THEN 'FIRST' WHEN p.asked THEN 'ASKED' ELSE 'GATE'"

# A scan later than now (the clock went back) is not fresh, as in the rule.
_IDLE_OR_NOT = f"""
    SELECT p.channel, p.topic, CASE {_WITHOUT_FAILURE} END AS verdict
    FROM channels c JOIN places p ON p.channel = c.id
    WHERE {_FOLLOWED}
      AND (
        p.last_scanned_at IS NULL OR p.asked
        OR ((p.last_scan_found_archives OR p.last_scanned_at <= $3 OR p.last_scanned_at > $2)
            AND (p.consecutive_empty_scans < $4 OR mod($6 + p.turn_offset, $5) = 0))
      )
"""

# A failure that may still succeed makes its place neither fresh nor cold, so it is due one way or the other. Asked
# apart: joined to all places, they would all be sorted into a table of their own first.
_FAILING = f"""
    SELECT p.channel, p.topic, CASE WHEN f.retry THEN 'RETRY' {_WITHOUT_FAILURE} END AS verdict
    FROM unnest($2::bigint[], $3::bigint[], $4::boolean[]) AS f (channel, topic, retry)
    JOIN places p ON p.channel = f.channel AND p.topic = f.topic
    JOIN channels c ON c.id = p.channel
    WHERE {_FOLLOWED}
"""


async def due(
    connection: Connection, account: AccountId, scans: ScanHabits, retries: RetryHabits
) -> dict[tuple[int, int], Verdict]:
    """The verdicts of an account's next cycle that are no skips, by channel key and topic.

    What is missing is fresh, cold and not in its turn, or not readable. The gate may still wake it.
    """
    row = await connection.fetchrow("SELECT clock_now() AS now, cycle FROM accounts WHERE id = $1", account)
    assert row is not None
    now = row["now"]
    to_retry, pending = count_failures(await failures.of_reader(connection, account), retries, now)
    awake = [place for place, count in pending.items() if count]
    rows = await connection.fetch(
        _IDLE_OR_NOT,
        account, now, now - scans.fresh_for, scans.cold_after_empty_scans, scans.cold_every_nth_cycle, row["cycle"] + 1,
    )  # fmt: skip
    rows += await connection.fetch(
        _FAILING,
        account,
        [key for key, _ in awake], [topic for _, topic in awake], [to_retry[place] > 0 for place in awake],
    )  # fmt: skip
    return {(row["channel"], row["topic"]): Verdict[row["verdict"]] for row in rows}
