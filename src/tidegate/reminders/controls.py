"""What people do to runs: fire, pause, resume, cancel, and settle what nobody knows the outcome of."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tidegate.errors import NothingToDo, NotNow, TidegateError
from tidegate.reminders.ending import settle
from tidegate.reminders.opening import open_planned
from tidegate.reminders.plan import make_plan
from tidegate.reminders.waking import wake_owner
from tidegate.rules.delivering import PartState, RunState
from tidegate.store import accounts, doubtful_parts, reminders, run_moves, run_targets, runs
from tidegate.store.database import Connection
from tidegate.store.reminders import KeptReminder
from tidegate.store.runs import Run
from tidegate.words import AccountState, RunId


class Resolution(StrEnum):
    """What a person says of a part whose outcome nobody knows."""

    SENT = "sent"
    RESEND = "resend"
    SKIP = "skip"

    @property
    def state(self) -> PartState:
        """The state the part moves to."""
        return {
            Resolution.SENT: PartState.SENT,
            Resolution.RESEND: PartState.PENDING,
            Resolution.SKIP: PartState.SKIPPED,
        }[self]


async def fire(connection: Connection, name: str, *, test_on: str | None = None) -> RunId:
    """Open a run of a reminder now, or one to a single group to try it; ``BadInput`` says why it is refused."""
    kept = await reminders.find(connection, name, lock=True)
    if kept.everything_is_paused:
        raise NotNow("Every run is paused, so nothing is fired. Go on with: tidegate runs resume --all")
    if test_on is not None:
        await _require_able(connection, kept)
    plan = await make_plan(connection, kept, at=kept.now, only=test_on)
    run = await open_planned(connection, plan, test=test_on is not None)
    assert run is not None  # only a firing that was due can have been opened before
    await wake_owner(connection, kept.account)
    return run


async def _require_able(connection: Connection, kept: KeptReminder) -> None:
    """Refuse to try a reminder out where nobody could see what comes of it; it would go out some time later."""
    account = (await accounts.find(connection, kept.account_name)).account
    if account.state is not AccountState.ACTIVE:
        raise TidegateError(account.stands)


async def pause(connection: Connection, number: RunId) -> Run:
    """Make no further claim for a run; what is in flight completes."""
    run = await _open(connection, number)
    if run.cancelled_at is not None:
        raise NothingToDo(f"Run {number} is cancelled; it ends when what is in flight has landed.")
    if not await run_moves.pause(connection, run):
        raise NothingToDo(f"Run {number} is paused already.")
    await wake_owner(connection, run.account)
    return run


async def resume(connection: Connection, number: RunId) -> Run:
    """Go on with a run that is paused."""
    run = await _open(connection, number)
    if run.paused_by == "everything":
        raise NotNow("Every run is paused. Go on with all of them: tidegate runs resume --all")
    if not await run_moves.resume(connection, run):
        raise NothingToDo(f"Run {number} is not paused: it is {run.state.value.replace('_', ' ')}.")
    await settle(connection, number)
    await wake_owner(connection, run.account)
    return run


async def pause_all(connection: Connection) -> list[Run]:
    """Stop every run, and have those that open from now on open paused."""
    await run_moves.set_everything_paused(connection, on=True)
    return [run for run in await _all_open(connection) if await _pause_with_all(connection, run)]


async def resume_all(connection: Connection) -> list[Run]:
    """Go on with every run that was stopped with all of them, or by a restore; those paused one by one stay so."""
    await run_moves.set_everything_paused(connection, on=False)
    resumed = []
    for run in await _all_open(connection):
        if run.paused_by in ("everything", "restore") and await run_moves.resume(connection, run):
            await settle(connection, run.id)
            await wake_owner(connection, run.account)
            resumed.append(run)
    return resumed


async def cancel(connection: Connection, number: RunId) -> Run:
    """Send nothing more of a run and end it; what was sent stays sent, and what is in flight completes."""
    run = await _open(connection, number)
    await run_moves.note_cancelled(connection, run)
    await settle(connection, number)
    await wake_owner(connection, run.account)
    return run


async def resolve(connection: Connection, number: RunId, resolution: Resolution, *, groups: Sequence[str] = ()) -> int:
    """Settle what is unknown of a run, or of some of its groups; returns how many parts that were."""
    run = await _open(connection, number)
    targets = await run_targets.called(connection, number, groups) if groups else None
    settled = await doubtful_parts.settle(connection, number, resolution.state, targets=targets)
    if not settled:
        raise NothingToDo(f"Nothing of run {number} is unknown.")
    await run_moves.reopen(connection, run)
    await settle(connection, number)
    await wake_owner(connection, run.account)
    return settled


async def _open(connection: Connection, number: RunId) -> Run:
    run = await runs.find(connection, number, lock=True)
    if run.state is RunState.ENDED:
        assert run.status is not None
        raise NotNow(f"Run {number} has ended ({run.status.value}); nothing of it can be changed.")
    return run


async def _all_open(connection: Connection) -> list[Run]:
    return sorted(await runs.listing(connection, ended=False, limit=100_000), key=lambda run: (run.account, run.id))


async def _pause_with_all(connection: Connection, run: Run) -> bool:
    if not await run_moves.pause(connection, run, by="everything"):
        return False
    await wake_owner(connection, run.account)
    return True
