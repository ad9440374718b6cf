"""When a higher standing is offered: never early, never after a warning, never where it changes nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.accounts.rules.standing_upgrade import LONG_USED, QUIET_FOR, AccountRecord, standing_offer
from tidegate.core.account import Standing
from tidegate.core.platform import registered_platforms
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP

WEEK = timedelta(days=7)
AGES = st.timedeltas(timedelta(), timedelta(days=400))
RECORDS = st.builds(
    AccountRecord,
    platform=st.sampled_from(registered_platforms()),
    standing=st.sampled_from(Standing),
    age=AGES,
    has_sent=st.booleans(),
    is_warming_up=st.booleans(),
    warned_ago=st.none() | AGES,
)
GOOD = AccountRecord(WHATSAPP, Standing.NEW, WEEK, has_sent=True, is_warming_up=False, warned_ago=None)


@given(record=RECORDS)
def test_an_offer_is_one_step_and_earned(record: AccountRecord) -> None:
    """A pace that grows too early is what gets a number banned."""
    offer = standing_offer(record, WEEK)
    if offer is None:
        return
    steps = [Standing.NEW, Standing.NORMAL, Standing.ESTABLISHED]
    assert steps.index(offer.standing) == steps.index(record.standing) + 1
    assert record.platform is WHATSAPP
    assert record.has_sent
    assert record.warned_ago is None or record.warned_ago >= QUIET_FOR
    assert record.age >= (WEEK if record.standing is Standing.NEW else LONG_USED)
    assert not (record.standing is Standing.NEW and record.is_warming_up)


@pytest.mark.parametrize(
    ("record", "offered"),
    [
        (GOOD, Standing.NORMAL),
        (replace(GOOD, age=WEEK - timedelta(seconds=1)), None),
        (replace(GOOD, is_warming_up=True), None),
        (replace(GOOD, warned_ago=QUIET_FOR), Standing.NORMAL),
        (replace(GOOD, warned_ago=QUIET_FOR - timedelta(seconds=1)), None),
        (replace(GOOD, standing=Standing.NORMAL, age=LONG_USED), Standing.ESTABLISHED),
        (replace(GOOD, standing=Standing.NORMAL, age=LONG_USED - timedelta(seconds=1)), None),
        (replace(GOOD, standing=Standing.ESTABLISHED, age=LONG_USED), None),
        (replace(GOOD, platform=TELEGRAM), None),
        (replace(GOOD, has_sent=False), None),
    ],
)
def test_what_is_offered_when(record: AccountRecord, offered: Standing | None) -> None:
    """Each bound, from both sides."""
    offer = standing_offer(record, WEEK)
    assert (offer and offer.standing) == offered


def test_the_reasons_name_ninety_and_fourteen_days() -> None:
    """What a person reads before deciding."""
    normal, established = (
        standing_offer(GOOD, WEEK),
        standing_offer(replace(GOOD, standing=Standing.NORMAL, age=LONG_USED), WEEK),
    )
    assert normal is not None
    assert normal.reason == "Its warm-up is over, without a warning in the last 14 days."
    assert established is not None
    assert established.reason == "It has been in use for 90 days, without a warning in the last 14."
