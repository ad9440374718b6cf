"""How accounts spread over workers."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.ids import WorkerNumber
from tidegate.workers.rules.account_assignment import fair_shares

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
