"""How many connections clients may hold, and when one is too slow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.rules.connection_limits import FEWEST, SLOWEST, connection_limit, patience_left

files = st.integers(0, 1_000_000)
MOST = 30.0


@given(wanted=st.integers(1, 100_000), open_files=files, used_elsewhere=files)
def test_the_worker_keeps_what_it_has_and_room_for_more(wanted: int, open_files: int, used_elsewhere: int) -> None:
    """Clients, what is used elsewhere, and a quarter of all: together never above the limit of the process."""
    limit = connection_limit(wanted, open_files=open_files, used_elsewhere=used_elsewhere)
    assert limit <= max(FEWEST, wanted)
    assert limit == FEWEST or limit + used_elsewhere + open_files // 4 <= open_files


def test_examples() -> None:
    """The usual 1,024 files leave room for some hundreds; where there is plenty, what was set is what there is."""
    assert connection_limit(1_000, open_files=1_024, used_elsewhere=40) == 728
    assert connection_limit(1_000, open_files=65_536, used_elsewhere=5_000) == 1_000
    assert connection_limit(1_000, open_files=64, used_elsewhere=40) == FEWEST


@given(
    steps=st.lists(st.tuples(st.floats(0.1, 2.0), st.integers(0, 3 * SLOWEST)), min_size=1, max_size=200),
)
def test_nobody_holds_a_connection_for_few_bytes(steps: list[tuple[float, int]]) -> None:
    """However a client spreads its bytes: it lasts no longer than its patience and what its bytes are worth."""
    left, lasted, moved = MOST, 0.0, 0
    for waited, brought in steps:
        left = patience_left(left, most=MOST, waited=waited, moved=brought)
        lasted, moved = lasted + waited, moved + brought
        if left < 0:
            break
        assert lasted <= MOST + moved / SLOWEST + 1e-6


@given(steps=st.lists(st.floats(0.1, 29.0), max_size=200), rate=st.integers(SLOWEST, 100 * SLOWEST))
def test_whoever_keeps_up_is_never_too_slow(steps: list[float], rate: int) -> None:
    """At the least speed or above it a client may take as long as its bytes take."""
    left = MOST
    for waited in steps:
        left = patience_left(left, most=MOST, waited=waited, moved=int(rate * waited) + 1)
        assert left > 0
