"""How often a client may connect, whatever happens to its connections."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.rules.reconnect_pause import FIRST_PAUSE, LONGEST_PAUSE, STEADY_AFTER, reconnect_pause

HOUR = timedelta(hours=1)
SHORT = st.timedeltas(timedelta(), STEADY_AFTER - timedelta(microseconds=1))


@given(lives=st.lists(SHORT, min_size=80, max_size=80))
def test_connections_that_die_young_are_made_ever_more_rarely(lives: list[timedelta]) -> None:
    """Whatever dies within five minutes, however it was let in, is connected at most 21 times in an hour."""
    now, pause, connects = timedelta(), timedelta(), 0
    for held_for in lives:
        if now > HOUR:
            break
        connects += 1
        pause = reconnect_pause(pause, held_for=held_for)
        now += held_for + pause
    assert connects <= 21


@given(pause=st.timedeltas(timedelta(), LONGEST_PAUSE), held_for=st.timedeltas(STEADY_AFTER, timedelta(days=9)))
def test_after_a_good_connection_the_next_is_made_at_once(pause: timedelta, held_for: timedelta) -> None:
    """A day's work that is cut off goes on without a pause."""
    assert reconnect_pause(pause, held_for=held_for) == timedelta()


@given(pause=st.timedeltas(timedelta(), LONGEST_PAUSE), held_for=SHORT)
def test_a_pause_doubles_up_to_its_bound(pause: timedelta, held_for: timedelta) -> None:
    """Never less than a second, never more than the bound, and twice the last between them."""
    after = reconnect_pause(pause, held_for=held_for)
    assert FIRST_PAUSE <= after <= LONGEST_PAUSE
    assert after in (pause * 2, FIRST_PAUSE, LONGEST_PAUSE)


def test_the_pauses_are_these() -> None:
    """1, 2, 4 … 256 seconds and then five minutes; a connection that held for five minutes starts over."""
    pause, pauses = timedelta(), []
    for _ in range(11):
        pause = reconnect_pause(pause, held_for=timedelta(minutes=4, seconds=59))
        pauses.append(pause.total_seconds())
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert reconnect_pause(pause, held_for=timedelta(minutes=5)) == timedelta()
    assert reconnect_pause(pause, held_for=timedelta(), longest=timedelta(minutes=30)) == timedelta(minutes=10)
