"""Problems of archives: given up, failed, or waiting for a disk, a process or a destination."""

from __future__ import annotations

from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection
from tidegate.problems.problem import Problem, ProblemKind


async def failed(connection: Connection) -> list[Problem]:
    """Archives that failed: those that are given up, and those that are tried again."""
    rows = await connection.fetch(
        """
        SELECT a.state, count(*) AS archives, min(f.since) AS since
        FROM archives a LEFT JOIN failures f ON f.archive = a.id
        WHERE a.state IN ('failed', 'given_up')
        GROUP BY a.state
        """
    )
    by_state = {row["state"]: row for row in rows}
    found = []
    if row := by_state.get("given_up"):
        what = f"{counted(row['archives'], 'archive')} failed too often and {_were(row['archives'])} given up."
        action = "See why: tidegate archive list --state given_up. Retry: tidegate archive retry --all"
        found.append(Problem(ProblemKind.ARCHIVES_GIVEN_UP, what, action, row["since"]))
    if row := by_state.get("failed"):
        it = "it is" if row["archives"] == 1 else "they are"
        what = f"{counted(row['archives'], 'archive')} failed; {it} tried again automatically."
        action = "See why: tidegate archive list --state failed"
        found.append(Problem(ProblemKind.ARCHIVES_FAILED, what, action, row["since"]))
    return found


async def waiting(connection: Connection, most: int = 10) -> list[Problem]:
    """What keeps all archives of a machine or of a destination waiting."""
    rows = await connection.fetch(
        """
        SELECT sentence, since, action FROM (
            (SELECT DISTINCT ON (machine) sentence, since, 'Make room on that disk.' AS action
             FROM disk_pauses ORDER BY machine, since)
            UNION ALL
            (SELECT DISTINCT ON (machine) sentence, since, 'Give that machine more memory or processes.'
             FROM reading_pauses ORDER BY machine, since)
            UNION ALL
            SELECT sentence, since, 'Let the account post there, or name another: tidegate channel enable CHANNEL '
                || '--destination CHANNEL' FROM closed_destinations
        ) AS pauses
        ORDER BY since LIMIT $1
        """,
        most,
    )
    return [Problem(ProblemKind.ARCHIVES_WAIT, row["sentence"], row["action"], row["since"]) for row in rows]


async def waiting_files(connection: Connection, most: int = 10) -> list[Problem]:
    """What keeps all files of a machine waiting."""
    rows = await connection.fetch(
        "SELECT DISTINCT ON (machine) sentence, since FROM media_pauses ORDER BY machine, since LIMIT $1", most
    )
    action = "Make room, or raise the limit: tidegate media policy"
    return [Problem(ProblemKind.FILES_WAIT, row["sentence"], action, row["since"]) for row in rows]


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
