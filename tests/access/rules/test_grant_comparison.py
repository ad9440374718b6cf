"""What one token may give, take or confirm of another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.access.rules.grant_comparison import Grant, excess

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCOPES = frozenset({"read", "steer", "admin"})

ends = st.none() | st.integers(0, 5).map(lambda days: NOON + timedelta(days=days))
grants = st.builds(
    Grant,
    scopes=st.frozensets(st.sampled_from(sorted(SCOPES))),
    channels=st.none() | st.frozensets(st.integers(1, 4)),
    expires_at=ends,
)
doors = st.tuples(st.sampled_from(sorted(SCOPES)), st.integers(1, 5), ends.map(lambda end: end or NOON))


def opens(grant: Grant, door: tuple[str, int, datetime]) -> bool:
    """Whether a grant is good for one scope, in one channel, at one moment."""
    scope, channel, at = door
    return (
        scope in grant.scopes
        and (grant.channels is None or channel in grant.channels)
        and (grant.expires_at is None or at < grant.expires_at)
    )


@given(wanted=grants, own=grants, door=doors)
def test_what_is_within_a_grant_opens_no_door_that_the_grant_does_not(
    wanted: Grant, own: Grant, door: tuple[str, int, datetime]
) -> None:
    """No door, at no moment, in no channel: that is all that matters."""
    if not excess(wanted, own):
        assert not opens(wanted, door) or opens(own, door)


@given(grant=grants)
def test_a_grant_is_within_itself_and_within_everything(grant: Grant) -> None:
    """A token may always give away or revoke itself."""
    assert excess(grant, grant) == []
    assert excess(grant, Grant(SCOPES)) == []


@pytest.mark.parametrize(
    ("wanted", "own", "beyond"),
    [
        (Grant(SCOPES), Grant(frozenset({"admin"})), ["the scopes read, steer"]),
        (Grant(frozenset({"read"})), Grant(frozenset({"admin"})), ["the scope read"]),
        (Grant(SCOPES), Grant(SCOPES, frozenset({1})), ["channels that it is not for"]),
        (Grant(SCOPES, frozenset({1, 2})), Grant(SCOPES, frozenset({1})), ["channels that it is not for"]),
        (Grant(SCOPES), Grant(SCOPES, expires_at=NOON), ["a later end"]),
        (
            Grant(SCOPES, expires_at=NOON + timedelta(seconds=1)),
            Grant(SCOPES, expires_at=NOON),
            ["a later end"],
        ),
    ],
)
def test_what_is_beyond_a_grant_is_named(wanted: Grant, own: Grant, beyond: list[str]) -> None:
    """Each in words that fit into a refusal."""
    assert excess(wanted, own) == beyond
