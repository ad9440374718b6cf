"""Every problem, the most urgent first."""

from __future__ import annotations

from tidegate.database.pool import Connection
from tidegate.problems.problem import Problem, ProblemLimits
from tidegate.problems.queries import account_problems, archive_problems, sending_problems, service_problems


async def problems(connection: Connection, limits: ProblemLimits) -> list[Problem]:
    """All that needs a person, as the database knows it. Without a worker, that channels are behind is no news."""
    no_worker = await service_problems.without_worker(connection)
    return [
        *no_worker,
        *await account_problems.stopped(connection, limits),
        *await sending_problems.all_paused(connection),
        *await sending_problems.waiting_runs(connection, limits),
        *await sending_problems.undelivered(connection, limits),
        *await archive_problems.waiting(connection),
        *await archive_problems.failed(connection),
        *await archive_problems.waiting_files(connection),
        *([] if no_worker else await account_problems.behind(connection, limits)),
        *await account_problems.unreadable(connection),
        *await service_problems.old_backup(connection, limits),
        *await service_problems.unconfirmed_tokens(connection),
    ]
