"""How accounts spread over workers."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.ids import WorkerNumber
from tidegate.workers.rules.account_assignment import fair_shares
from tidegate.workers.rules.worker_takeover import WorkerEnding, judge

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
workers = st.dictionaries(st.integers(1, 99).map(WorkerNumber), st.integers(0, 400), max_size=8)


@given(accounts=st.integers(0, 2_000), seats=workers)
def test_every_account_that_finds_a_seat_is_served_once(accounts: int, seats: dict[WorkerNumber, int]) -> None:
    """No account is left over while a seat is free, and no worker gets more than its seats."""
    shares = fair_shares(accounts, seats)
    assert sum(shares.values()) == min(accounts, sum(seats.values()))
    assert all(0 <= shares[number] <= seats[number] for number in seats)


@given(accounts=st.integers(0, 2_000), seats=workers)
def test_shares_differ_by_one_at_most_unless_seats_run_out(accounts: int, seats: dict[WorkerNumber, int]) -> None:
    """Even means even: only a full worker has less than the others, but for the odd account."""
    shares = fair_shares(accounts, seats)
    with_room = [share for number, share in shares.items() if share < seats[number]]
    assert all(max(shares.values()) - share <= 1 for share in with_room)


def test_three_workers_share_three_hundred() -> None:
    """The example every operator tries first."""
    seats = {WorkerNumber(n): 1_000 for n in (7, 3, 5)}
    assert fair_shares(300, seats) == {3: 100, 5: 100, 7: 100}
    assert fair_shares(301, seats) == {3: 101, 5: 100, 7: 100}


def ending_after(beat: timedelta, *, process_gone: bool = False, session_open: bool = False) -> WorkerEnding | None:
    return judge(
        beat_at=NOON - beat,
        time_out=timedelta(seconds=15),
        process_gone=process_gone,
        session_open=session_open,
        now=NOON,
    )


def test_a_lock_that_ended_early_ended_with_its_process() -> None:
    """one-owner-per-account: dead means the lock ended sooner than the time-out after the last stored beat."""
    assert ending_after(timedelta(seconds=14)) is WorkerEnding.DIED
    assert ending_after(timedelta(seconds=15)) is WorkerEnding.SILENT


def test_a_lost_connection_is_not_a_death() -> None:
    """A worker whose other session is still open gets its time-out to come back; then it counts as silent."""
    assert ending_after(timedelta(seconds=14), session_open=True) is None
    assert ending_after(timedelta(seconds=15), session_open=True) is WorkerEnding.SILENT


def test_a_beat_from_the_future_proves_no_death() -> None:
    """A database clock that went back must not free a sign-in that may still be in use."""
    assert ending_after(timedelta(seconds=-1)) is WorkerEnding.SILENT


def test_a_process_seen_gone_is_dead_however_late() -> None:
    """A restart on the same machine does not wait for the longer time-out."""
    assert ending_after(timedelta(hours=9), process_gone=True) is WorkerEnding.DIED
