"""The sequence of an account's message box: nothing beyond a missing piece counts, whatever chat it is of."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.ids import ChannelId, MessageId
from tidegate.history.box_sequence import follow_updates
from tidegate.platforms.interface import BoxUpdates, ChannelUpdates, Message

BEGIN = 100
CHATS = (ChannelId(1), ChannelId(2), ChannelId(3))


def message(number: int) -> Message:
    return Message(MessageId(number), datetime(2026, 1, 1, tzinfo=UTC), "Ada", f"text {number}")


@st.composite
def logs(draw: st.DrawFn) -> list[BoxUpdates]:
    """What happened in a box, in order: posts and edits in some chat, deletions in any, and what brings no message."""
    upto, number = BEGIN, 0
    found: list[BoxUpdates] = []
    for kind in draw(st.lists(st.sampled_from(["post", "edit", "delete", "read"]), max_size=25)):
        steps = draw(st.integers(1, 3)) if kind == "delete" else 1
        upto += steps
        chat = draw(st.sampled_from(CHATS))
        if kind == "post":
            number += 1
            found.append(BoxUpdates(upto, steps, {chat: ChannelUpdates(None, posted=[message(number)])}))
        elif kind == "edit":
            found.append(BoxUpdates(upto, steps, {chat: ChannelUpdates(None, edited=[message(max(number, 1))])}))
        else:
            gone = [MessageId(one) for one in range(1, steps + 1)] if kind == "delete" else []
            found.append(BoxUpdates(upto, steps, deleted=gone))
    return found


@given(log=logs(), data=st.data())
def test_nothing_beyond_a_missing_update_moves_the_counter(log: list[BoxUpdates], data: st.DataObject) -> None:
    """However updates are lost, doubled and shuffled, the counter stops before the first one that is missing."""
    kept = data.draw(st.lists(st.sampled_from(log), max_size=40)) if log else []
    heard = {one.upto for one in kept}
    followed = follow_updates(BEGIN, data.draw(st.permutations(kept)))
    unbroken = BEGIN
    for one in log:
        if one.upto not in heard:
            break
        unbroken = one.upto
    assert followed.known == unbroken
    assert followed.is_gap == any(number > unbroken for number in heard)


@given(log=logs(), lost=st.integers(0, 30))
def test_all_that_came_is_stored_and_only_the_unbroken_part_is_proof(log: list[BoxUpdates], lost: int) -> None:
    """A message after a gap is stored in its chat, and proves nothing there; a deletion counts in every chat."""
    heard = [one for place, one in enumerate(log) if place != lost]
    followed = follow_updates(BEGIN, heard)
    stored = {number.id for updates in followed.page.chats.values() for number in updates.posted}
    proven = {number.id for posted in followed.page.linked.values() for number in posted}
    assert stored == {number.id for one in heard for updates in one.chats.values() for number in updates.posted}
    before = log[: min(lost, len(log))] if lost < len(log) else log
    assert proven == {number.id for one in before for updates in one.chats.values() for number in updates.posted}
    for chat in CHATS:
        assert set(followed.page.updates_of(chat).deleted) == {number for one in heard for number in one.deleted}


@given(log=logs(), split=st.integers(0, 30))
def test_what_is_known_is_not_stored_again(log: list[BoxUpdates], split: int) -> None:
    """Heard a second time, an old post could restore what was deleted since."""
    first = follow_updates(BEGIN, log[:split])
    again = follow_updates(first.known, log)
    later = follow_updates(first.known, log[split:])
    assert again == later
