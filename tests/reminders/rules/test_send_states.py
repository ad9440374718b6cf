"""Which changes a part may make, and what they mean for its target."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.reminders.rules.send_states import (
    MOVES,
    SendState,
    WhenUnknown,
    after_crash,
    arrived_run_part,
    next_run_part,
    target_state,
)

states = st.sampled_from(SendState)
targets = st.lists(states, min_size=1, max_size=5)


def test_every_state_has_its_moves_and_ends_stay_ends():
    """What is sent, failed or skipped moves no more: nothing is ever sent twice by a change of mind."""
    assert set(MOVES) == set(SendState)
    assert not MOVES[SendState.SENT] | MOVES[SendState.FAILED] | MOVES[SendState.SKIPPED]


@given(parts=targets)
def test_a_target_is_sent_only_when_all_its_parts_are(parts):
    """Counts are targets: one part short is not delivered."""
    assert (target_state(parts) is SendState.SENT) == (set(parts) == {SendState.SENT})


@given(parts=targets)
def test_parts_go_out_in_order(parts):
    """Only a part whose predecessors have all arrived may be claimed, and it must be pending."""
    place = next_run_part(parts)
    if place is None:
        first = next((state for state in parts if state is not SendState.SENT), None)
        assert first is not SendState.PENDING
    else:
        assert parts[place] is SendState.PENDING
        assert all(state is SendState.SENT for state in parts[:place])


def _in_flight(parts):
    return parts.index(SendState.SENDING) if SendState.SENDING in parts else None


@given(parts=st.lists(st.just(SendState.PENDING), min_size=1, max_size=4), data=st.data())
def test_any_walk_through_the_moves_ends_with_parts_in_order(parts, data):
    """Random legal moves, claiming only what may be claimed: no part arrives before the one in front of it."""
    arrived = []
    for _ in range(30):
        moving = [place for place, state in enumerate(parts) if MOVES[state]]
        if not moving:
            break
        place = data.draw(st.sampled_from(moving))
        to = data.draw(st.sampled_from(sorted(MOVES[parts[place]])))
        if to in (SendState.SENDING, SendState.UNKNOWN) and place not in (next_run_part(parts), _in_flight(parts)):
            continue
        parts[place] = to
        if to is SendState.SENT:
            arrived.append(place)
    assert arrived == sorted(arrived)
    assert len(arrived) == len(set(arrived))


def test_an_unknown_part_holds_back_the_later_ones():
    """D-23: the rest of that target waits, because its order would be lost."""
    assert next_run_part([SendState.UNKNOWN, SendState.PENDING]) is None
    assert target_state([SendState.UNKNOWN, SendState.PENDING]) is SendState.UNKNOWN


@pytest.mark.parametrize(
    ("policy", "state"),
    [
        (WhenUnknown.HOLD, None),
        (WhenUnknown.ASSUME_SENT, SendState.SENT),
        (WhenUnknown.RESEND, SendState.PENDING),
    ],
)
def test_the_operators_policy_resolves_what_is_unknown(policy, state):
    """Hold waits for a receipt or a person; the other two are the operator's own risk."""
    assert policy.resolves_to is state


@pytest.mark.parametrize(
    ("dedupes", "window", "ago", "state"),
    [
        (True, None, timedelta(days=2), SendState.PENDING),
        (True, timedelta(minutes=2), timedelta(seconds=30), SendState.PENDING),
        (True, timedelta(minutes=2), timedelta(minutes=10), SendState.UNKNOWN),
        (True, timedelta(minutes=2), timedelta(seconds=-5), SendState.UNKNOWN),
        (False, None, timedelta(seconds=1), SendState.UNKNOWN),
    ],
)
def test_after_a_crash_only_what_is_harmless_is_resent(dedupes, window, ago, state):
    """D-20, D-21, D-24: Telegram always, Discord while its nonce holds, WhatsApp never."""
    assert after_crash(removes_duplicates=dedupes, for_how_long=window, claimed_ago=ago) is state


names = st.sampled_from(["3EB0", "3EB1", "3EB2", "AC00"])


@given(message=names, handed_over=st.dictionaries(st.integers(1, 5), st.sets(names), max_size=5))
def test_an_arrival_means_what_was_handed_over_under_its_name(message: str, handed_over: dict[int, set[str]]) -> None:
    """Nothing is guessed: a part is meant only where its own send has that name and no other part's has."""
    meant = arrived_run_part(message, handed_over)
    having = [part for part, known in handed_over.items() if message in known]
    assert meant == (having[0] if len(having) == 1 else None)
