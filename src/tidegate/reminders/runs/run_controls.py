"""What people do to runs: fire, pause, resume, cancel, and resolve parts whose outcome is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tidegate.accounts.queries import accounts
from tidegate.core.account import AccountState
from tidegate.core.errors import NothingToDo, NotNow, TidegateError
from tidegate.core.ids import RunId
from tidegate.database.pool import Connection
from tidegate.reminders.definition import WhenClosed
from tidegate.reminders.queries import media_uploads, run_states, run_targets, runs, unknown_sends
from tidegate.reminders.queries.reminders import KeptReminder
from tidegate.reminders.queries.runs import LOOK_AT_RUNS, Run
from tidegate.reminders.rules.run_summary import RunState
from tidegate.reminders.rules.send_states import SendState
from tidegate.reminders.runs.run_next_state import advance
from tidegate.reminders.runs.run_plan import make_plan
from tidegate.reminders.runs.run_start import open_planned
from tidegate.workers.queries import commands


class Resolution(StrEnum):
    """What a person decides about a part whose outcome is unknown."""

    SENT = "sent"
    RESEND = "resend"
    SKIP = "skip"

    @property
    def state(self) -> SendState:
        """The state the part gets."""
        return {
            Resolution.SENT: SendState.SENT,
            Resolution.RESEND: SendState.PENDING,
            Resolution.SKIP: SendState.SKIPPED,
        }[self]


async def fire(
    connection: Connection,
    kept: KeptReminder,
    *,
    test_on: str | None = None,
    next_window: bool = False,
    any_hour: bool = False,
) -> RunId:
    """Open a run of a locked reminder now, or one to a single group as a test; ``BadInput`` says why it is refused.

    Fired after its delivery hours it sends nothing, or waits for the next ones, as the reminder or *next_window*
    says. *any_hour* is a person's word to send it now, outside those hours too.
    """
    if kept.everything_is_paused:
        raise NotNow("Every run is paused, so nothing is fired. Go on with: tidegate runs resume --all")
    if test_on is not None:
        await _require_able(connection, kept)
    plan = await make_plan(connection, kept, at=kept.now, only=test_on)
    late = WhenClosed.RESUME_NEXT if next_window else None
    run = await open_planned(connection, plan, test=test_on is not None, late=late, any_hour=any_hour)
    assert run is not None  # only a firing that was due can have been opened before
    await commands.ask_once(connection, kept.account, LOOK_AT_RUNS)
    return run


async def _require_able(connection: Connection, kept: KeptReminder) -> None:
    """Refuse a test on an account that cannot send now: it would be sent at some later time."""
    account = (await accounts.find(connection, kept.account_name)).account
    if account.state is not AccountState.ACTIVE:
        raise TidegateError(account.stands)


async def pause(connection: Connection, number: RunId) -> Run:
    """Claim nothing more of a run; parts in flight complete."""
    run = await _open(connection, number)
    if run.cancelled_at is not None:
        raise NothingToDo(f"Run {number} is cancelled; it ends when what is in flight has landed.")
    if not await run_states.pause(connection, run):
        raise NothingToDo(f"Run {number} is paused already.")
    await commands.ask_once(connection, run.account, LOOK_AT_RUNS)
    return run


async def resume(connection: Connection, number: RunId) -> Run:
    """Resume a paused run."""
    run = await _open(connection, number)
    if run.paused_by == "everything":
        raise NotNow("Every run is paused. Go on with all of them: tidegate runs resume --all")
    await media_uploads.forgive(connection, run.account, number)
    if not await run_states.resume(connection, run):
        raise NothingToDo(f"Run {number} is not paused: it is {run.state.value.replace('_', ' ')}.")
    await advance(connection, number)
    await commands.ask_once(connection, run.account, LOOK_AT_RUNS)
    return run


async def pause_all(connection: Connection) -> list[Run]:
    """Pause every run, and open new runs paused from now on."""
    await run_states.set_everything_paused(connection, on=True)
    return [run for run in await _all_open(connection) if await _pause_with_all(connection, run)]


async def resume_all(connection: Connection) -> list[Run]:
    """Resume every run that was paused with all others or by a restore; runs paused one by one stay paused."""
    await run_states.set_everything_paused(connection, on=False)
    resumed = []
    for run in await _all_open(connection):
        if run.paused_by in ("everything", "restore") and await run_states.resume(connection, run):
            await advance(connection, run.id)
            await commands.ask_once(connection, run.account, LOOK_AT_RUNS)
            resumed.append(run)
    return resumed


async def cancel(connection: Connection, number: RunId) -> Run:
    """Send nothing more of a run and end it; parts in flight complete."""
    run = await _open(connection, number)
    await run_states.note_cancelled(connection, run)
    await advance(connection, number)
    await commands.ask_once(connection, run.account, LOOK_AT_RUNS)
    return run


async def resolve(connection: Connection, number: RunId, resolution: Resolution, *, groups: Sequence[str] = ()) -> int:
    """Resolve the unknown parts of a run, or of some of its groups; returns how many there were."""
    run = await _open(connection, number)
    targets = await run_targets.called(connection, number, groups) if groups else None
    resolved = await unknown_sends.resolve(connection, number, resolution.state, targets=targets)
    if not resolved:
        raise NothingToDo(f"Nothing of run {number} is unknown.")
    await run_states.reopen(connection, run)
    await advance(connection, number)
    await commands.ask_once(connection, run.account, LOOK_AT_RUNS)
    return resolved


async def _open(connection: Connection, number: RunId) -> Run:
    run = await runs.find(connection, number, lock=True)
    if run.state is RunState.ENDED:
        assert run.status is not None
        raise NotNow(f"Run {number} has ended ({run.status.value}); nothing of it can be changed.")
    return run


async def _all_open(connection: Connection) -> list[Run]:
    return sorted(await runs.listing(connection, ended=False, limit=100_000), key=lambda run: (run.account, run.id))


async def _pause_with_all(connection: Connection, run: Run) -> bool:
    if not await run_states.pause(connection, run, by="everything"):
        return False
    await commands.ask_once(connection, run.account, LOOK_AT_RUNS)
    return True
