"""What needs a person: found, in words, with since when and what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.problems.problem_rows import ACCOUNTS, ARCHIVES, CHANNELS, WORKER, fill
from tests.reminders.run_builder import a_run, an_account, frozen
from tidegate.core.ids import RunId
from tidegate.database.pool import Database
from tidegate.problems.local_disk import DiskSpace
from tidegate.problems.problem import Problem, ProblemKind, ProblemLimits
from tidegate.problems.problem_list import problems
from tidegate.problems.queries import account_problems, service_problems

LIMITS = ProblemLimits({"telegram": timedelta(hours=9)})
pytestmark = pytest.mark.both_servers


async def found(database: Database) -> dict[ProblemKind, Problem]:
    """The problems by their kind."""
    async with database.connection() as connection:
        return {one.kind: one for one in await problems(connection, LIMITS)}


def day(number: int) -> datetime:
    return datetime(2026, 11, number, 9, tzinfo=UTC)


async def test_a_new_database_has_no_problem(database: Database) -> None:
    """Nobody is alarmed before the first account."""
    assert await found(database) == {}


async def test_accounts_that_cannot_work_are_named(database: Database) -> None:
    """With since when and what to do. Who was paused by a person, or is unreachable for a moment, is not."""
    await fill(database, ACCOUNTS)
    async with database.connection() as connection:
        stopped = await account_problems.stopped(connection, LIMITS)
    assert [(one.subject, one.kind.value, one.since) for one in stopped] == [
        ("out", "account_signed_out", day(1)), ("gone", "account_banned", day(2)),
        ("odd", "account_stopped", day(3)), ("dark", "account_unreachable", day(4)),
    ]  # fmt: skip
    assert stopped[0].what == 'Account "out" is signed out. The phone signed it out.'
    assert stopped[0].action == "Sign it in again: tidegate account sign-in out"
    assert stopped[3].what == 'Account "dark" cannot reach Discord: No route to host.'


async def test_no_worker_is_a_problem_once_there_is_an_account(database: Database) -> None:
    """Since the last one ended; that channels are behind follows from it and is not said as well."""
    await fill(database, ACCOUNTS, CHANNELS, WORKER)
    kinds = await found(database)
    assert kinds[ProblemKind.NO_WORKER].since == day(7)
    assert "3 accounts" in kinds[ProblemKind.NO_WORKER].what
    assert ProblemKind.CHANNELS_BEHIND not in kinds


async def test_channels_that_nobody_checks_are_behind(database: Database) -> None:
    """An account that can work has ended no cycle for longer than twice its interval."""
    await fill(database, ACCOUNTS, CHANNELS)
    async with database.connection() as connection:
        [behind] = await account_problems.behind(connection, LIMITS)
        assert await account_problems.behind(connection, ProblemLimits({"telegram": timedelta(days=2)})) == []
        [unreadable] = await account_problems.unreadable(connection)
    assert behind.what == '3 channels of account "ada" are behind: no check has ended.'
    assert behind.action == "Check now: tidegate cycle ada"
    assert unreadable.what == 'No account can read "Customers 3" any more.'


async def test_failed_archives_are_counted(database: Database) -> None:
    """Those given up apart from those that are tried again, and what keeps all of them waiting."""
    await fill(database, ACCOUNTS, CHANNELS, ARCHIVES)
    kinds = await found(database)
    assert kinds[ProblemKind.ARCHIVES_GIVEN_UP].what == "2 archives failed too often and were given up."
    assert kinds[ProblemKind.ARCHIVES_FAILED].what == "1 archive failed; it is tried again automatically."
    assert kinds[ProblemKind.ARCHIVES_FAILED].since == day(5)
    assert kinds[ProblemKind.ARCHIVES_WAIT].what == "The disk of here is full."
    assert kinds[ProblemKind.ARCHIVES_WAIT].since == day(6)


async def test_all_sending_paused_is_told(database: Database) -> None:
    """It is easily forgotten, and nothing is sent meanwhile."""
    await fill(database, "UPDATE house SET runs_paused_at = '2026-11-08T09:00Z'")
    paused = (await found(database))[ProblemKind.SENDING_PAUSED]
    assert (paused.since, paused.action) == (day(8), "Resume it: tidegate runs resume --all")


async def some_run(database: Database, change: str) -> RunId:
    """A run of two groups that was changed so."""
    async with database.transaction() as connection:
        run = await frozen(connection, a_run(await an_account(connection)))
    await fill(database, change)
    return run


async def test_a_run_that_waits_for_a_decision_is_told(database: Database) -> None:
    """With how many messages are in doubt and the command that settles it."""
    await some_run(
        database,
        "UPDATE run_parts SET state = 'unknown', claimed_at = '2026-11-09T09:00Z' WHERE target = 1;"
        "UPDATE runs SET state = 'needs_attention'",
    )
    waits = (await found(database))[ProblemKind.RUN_NEEDS_ATTENTION]
    assert waits.what == 'Run 1 of "Friday stock": delivery of 2 messages is not confirmed.'
    assert (waits.subject, waits.since) == ("1", day(9))


async def test_an_unknown_outcome_is_told_while_the_run_goes_on(database: Database) -> None:
    """But not in the first minutes, in which a receipt may still come."""
    await some_run(database, "UPDATE run_parts SET state = 'unknown', claimed_at = clock_now() WHERE target = 1")
    assert ProblemKind.OUTCOME_UNKNOWN not in await found(database)
    await fill(database, "UPDATE run_parts SET claimed_at = '2026-11-09T09:00Z' WHERE target = 1")
    assert (await found(database))[ProblemKind.OUTCOME_UNKNOWN].since == day(9)


async def test_a_run_that_did_not_reach_everybody_is_told(database: Database) -> None:
    """For some days, until somebody sees to the others."""
    end = (
        "UPDATE runs SET state = 'ended', status = 'partial', ended_at = clock_now(), counts = '{}', "
        "error_summary = '1 of 2.'"
    )
    await some_run(database, end)
    missed = (await found(database))[ProblemKind.RUN_NOT_DELIVERED]
    assert missed.what == 'Run 1 of "Friday stock" was partly delivered. 1 of 2.'
    await fill(database, "UPDATE runs SET ended_at = clock_now() - interval '4 days'")
    assert ProblemKind.RUN_NOT_DELIVERED not in await found(database)


async def test_an_old_backup_is_told_only_where_one_was_made(database: Database) -> None:
    """Tidegate knows of its own backups alone; whoever uses other tools is not alarmed."""
    async with database.connection() as connection:
        assert await service_problems.old_backup(connection, LIMITS) == []
        await fill(database, "UPDATE house SET backed_up_at = clock_now() - interval '9 days'")
        [old] = await service_problems.old_backup(connection, LIMITS)
    assert old.what == "The last backup was made 9 days ago."


@pytest.mark.parametrize(("free", "full"), [(4, True), (30, True), (60, False)])
def test_a_disk_is_nearly_full_below_the_reserve_or_a_twentieth(free: int, full: bool) -> None:
    """Whichever is more."""
    reserve = 50 if free == 30 else 1
    assert bool(DiskSpace(Path("/data"), free, 100).problems(reserve)) is full
