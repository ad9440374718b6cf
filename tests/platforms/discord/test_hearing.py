"""Gateway events as hints, and what the book makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from discord import Permissions
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.discord.shapes import CHANNEL, GUILD, ME, THREAD, channel, guild, message, overwrite, role, thread
from tidegate.platforms.discord.book import Book
from tidegate.platforms.discord.hearing import Hearing
from tidegate.port import ChannelId, ChannelKind, Hint, MessageId, Stream

GENERAL, THREADED = ChannelId(int(CHANNEL)), ChannelId(int(THREAD))
HISTORY = Permissions.read_message_history.flag
READY = {"session_id": "s1", "user": {"id": ME}, "guilds": [{"id": GUILD, "unavailable": True}]}


@pytest.fixture
def hearing() -> Hearing:
    """One that has heard of one guild."""
    return listening()


def listening() -> Hearing:
    made = Hearing(Book())
    made.hear("READY", READY)
    made.hear("GUILD_CREATE", guild())
    made.settle()
    return made


def readable(hearing: Hearing, number: ChannelId) -> bool:
    head = hearing.book.head(number)
    assert head is not None
    assert head.channel is not None
    return head.channel.readable


def test_a_session_begins_with_a_break_and_then_each_guild() -> None:
    """H-09: what was live ends; from the heads that each guild tells on, everything will be told."""
    hearing = Hearing(Book())
    assert hearing.hear("READY", READY) == [Hint(None, stream=Stream.BROKEN)]
    assert hearing.awaited == {GUILD}
    assert hearing.told() is None
    (began,) = hearing.hear("GUILD_CREATE", guild())
    assert began.stream is Stream.BEGAN
    assert {number: head.newest for number, head in (began.heads or {}).items()} == {GENERAL: 41, THREADED: 42}
    assert not hearing.awaited
    hearing.settle()
    assert hearing.told() == began.heads


def test_a_lost_connection_makes_what_is_known_uncertain(hearing: Hearing) -> None:
    """H-08: until the session is resumed, nothing is told; then the sequence is unbroken."""
    assert hearing.pause() == Hint(None, stream=Stream.PAUSED)
    assert hearing.told() is None
    hearing.hear("MESSAGE_CREATE", message(50, guild_id=GUILD))
    assert hearing.hear("RESUMED", {}) == [Hint(None, stream=Stream.RESUMED)]
    told = hearing.told()
    assert told is not None
    assert told[GENERAL].newest == MessageId(50)


def test_a_message_moves_the_head(hearing: Hearing) -> None:
    """And never back, whatever order messages come in; a thread counts what was posted."""
    for number in (60, 55):
        hearing.hear("MESSAGE_CREATE", message(number, guild_id=GUILD, channel_id=THREAD))
    hearing.hear("MESSAGE_DELETE", {"id": "60", "channel_id": THREAD, "guild_id": GUILD})
    head = hearing.book.head(THREADED)
    assert head is not None
    assert (head.newest, head.messages, head.posted) == (60, 4, 7)


def test_the_first_message_of_a_person_makes_their_chat_known(hearing: Hearing) -> None:
    """DMs once seen are channels like any other."""
    known, posted = hearing.hear("MESSAGE_CREATE", message(70, channel_id="66"))
    assert known.heads is not None
    told = known.heads[ChannelId(66)].channel
    assert told is not None
    assert (told.kind, told.title) == (ChannelKind.PRIVATE_CHAT, "Ada")
    assert told.readable
    assert posted.news is not None
    assert len(hearing.hear("MESSAGE_CREATE", message(71, channel_id="66"))) == 1
    assert hearing.hear("CHANNEL_CREATE", {"id": "66", "type": 1}) == []


def test_a_role_that_changes_is_told_for_the_channels_it_matters_to(hearing: Hearing) -> None:
    """H-21: history closed by a role, at once and for threads too; opened again, they are readable."""
    (hint,) = hearing.hear("GUILD_ROLE_UPDATE", {"guild_id": GUILD, "role": role(GUILD, Permissions.view_channel.flag)})
    assert set(hint.heads or ()) == {GENERAL, THREADED}
    assert not readable(hearing, GENERAL)
    opened = {"guild_id": GUILD, "role": role("701", HISTORY)}
    assert hearing.hear("GUILD_ROLE_CREATE", opened) == []
    hearing.hear("GUILD_MEMBER_UPDATE", {"guild_id": GUILD, "user": {"id": ME}, "roles": ["701"]})
    assert readable(hearing, GENERAL)
    hearing.hear("GUILD_ROLE_DELETE", {"guild_id": GUILD, "role_id": "701"})
    assert not readable(hearing, GENERAL)


def test_roles_of_others_are_none_of_ours(hearing: Hearing) -> None:
    """A member update of somebody else changes nothing."""
    assert hearing.hear("GUILD_MEMBER_UPDATE", {"guild_id": GUILD, "user": {"id": "5"}, "roles": ["701"]}) == []


def test_an_owner_reads_everything(hearing: Hearing) -> None:
    """Given the guild, the account may read what it could not."""
    shut = channel(permission_overwrites=[overwrite(GUILD, kind=0, deny=HISTORY)], guild_id=GUILD)
    hearing.hear("CHANNEL_UPDATE", shut)
    assert not readable(hearing, GENERAL)
    hearing.hear("GUILD_UPDATE", {"id": GUILD, "owner_id": ME, "roles": guild()["roles"]})
    assert readable(hearing, GENERAL)


def test_a_server_that_is_boosted_takes_larger_files(hearing: Hearing) -> None:
    """Told once for its channels and threads; a tier that nobody knows yet leaves what was known."""
    (hint,) = hearing.hear("GUILD_UPDATE", {**guild(), "premium_tier": 3})
    told = {number: head.channel.largest_file for number, head in (hint.heads or {}).items() if head.channel}
    assert told == {GENERAL: 100 << 20, THREADED: 100 << 20}
    assert hearing.hear("GUILD_UPDATE", {**guild(), "premium_tier": 4})[0].heads == hint.heads


def test_a_channel_that_changes_takes_its_threads_along(hearing: Hearing) -> None:
    """A thread goes by its parent's overwrites."""
    shut = channel(permission_overwrites=[overwrite(GUILD, kind=0, deny=HISTORY)], guild_id=GUILD, name="closed")
    hints = hearing.hear("CHANNEL_UPDATE", shut)
    assert {hint.channel for hint in hints} == {GENERAL, THREADED}
    assert not readable(hearing, THREADED)


def test_channels_and_threads_come_and_go(hearing: Hearing) -> None:
    """H-23: a deletion is told with no call; a channel takes its threads along."""
    (made,) = hearing.hear("CHANNEL_CREATE", channel("801", guild_id=GUILD, last_message_id=None))
    assert made.channel == ChannelId(801)
    assert hearing.hear("THREAD_DELETE", {"id": "999", "guild_id": GUILD}) == []
    gone = hearing.hear("CHANNEL_DELETE", channel(guild_id=GUILD))
    assert {(hint.channel, hint.gone) for hint in gone} == {(GENERAL, True), (THREADED, True)}
    assert hearing.book.head(THREADED) is None


def test_a_category_is_no_channel(hearing: Hearing) -> None:
    """It holds nothing, so nothing is told of it."""
    assert hearing.hear("CHANNEL_CREATE", channel("802", kind=4, guild_id=GUILD)) == []


def test_a_new_thread_is_the_head_of_its_board(hearing: Hearing) -> None:
    """H-39: a board's head is its newest thread."""
    hearing.hear("CHANNEL_CREATE", channel("803", kind=15, guild_id=GUILD, last_message_id="804"))
    hearing.hear("THREAD_CREATE", thread("900", parent_id="803"))
    head = hearing.book.head(ChannelId(803))
    assert head is not None
    assert head.newest == 900


def test_a_thread_that_is_archived_is_still_known(hearing: Hearing) -> None:
    """H-40: it sleeps, and is told as such."""
    (hint,) = hearing.hear("THREAD_UPDATE", thread(archived=True))
    assert hint.heads is not None
    told = hint.heads[THREADED].channel
    assert told is not None
    assert told.archived


def test_threads_that_came_in_sight(hearing: Hearing) -> None:
    """All active ones are told; a known one that is not among them may be anything, and so is unknown."""
    hints = hearing.hear("THREAD_LIST_SYNC", {"guild_id": GUILD, "channel_ids": [CHANNEL], "threads": [thread("851")]})
    assert [hint.channel for hint in hints] == [ChannelId(851)]
    assert hearing.book.head(THREADED) is None


def test_a_guild_in_an_outage_is_not_gone(hearing: Hearing) -> None:
    """Its channels are unknown until it is back; then it tells from where on everything will come."""
    assert hearing.hear("GUILD_DELETE", {"id": GUILD, "unavailable": True}) == []
    assert hearing.told() == {}
    (began,) = hearing.hear("GUILD_CREATE", guild())
    assert began.stream is Stream.BEGAN


def test_a_guild_told_again_has_only_what_it_tells(hearing: Hearing) -> None:
    """What was deleted while nobody could hear it is not carried over."""
    (began,) = hearing.hear("GUILD_CREATE", guild(threads=[]))
    assert set(began.heads or ()) == {GENERAL}
    assert set(hearing.told() or ()) == {GENERAL}


def test_a_guild_the_account_was_taken_out_of_is_gone(hearing: Hearing) -> None:
    """Each of its channels is told as gone."""
    hints = hearing.hear("GUILD_DELETE", {"id": GUILD})
    assert {(hint.channel, hint.gone) for hint in hints} == {(GENERAL, True), (THREADED, True)}


def test_a_session_that_begins_anew_knows_only_what_it_is_told(hearing: Hearing) -> None:
    """What an older session knew of guilds is not carried over."""
    hearing.hear("READY", {**READY, "guilds": []})
    hearing.settle()
    assert hearing.told() == {}


EVENTS = st.one_of(
    st.builds(lambda number: ("MESSAGE_CREATE", message(number, guild_id=GUILD)), st.integers(1, 200)),
    st.builds(lambda: ("CHANNEL_UPDATE", channel(guild_id=GUILD))),
    st.builds(lambda: ("CHANNEL_DELETE", channel(guild_id=GUILD))),
    st.builds(lambda: ("THREAD_UPDATE", thread())),
    st.builds(lambda: ("THREAD_DELETE", thread())),
    st.builds(lambda: ("GUILD_CREATE", guild())),
    st.builds(lambda: ("GUILD_DELETE", {"id": GUILD, "unavailable": True})),
    st.builds(
        lambda mine: ("GUILD_MEMBER_UPDATE", {"guild_id": GUILD, "user": {"id": ME}, "roles": mine}), st.just([])
    ),
    st.builds(lambda: ("GUILD_ROLE_UPDATE", {"guild_id": GUILD, "role": role(GUILD, 0)})),
    st.builds(lambda: ("TYPING_START", {})),
)


@given(st.lists(EVENTS, max_size=12))
def test_any_order_of_events_is_heard(events: list[tuple[str, dict[str, Any]]]) -> None:
    """Whatever comes in whatever order: nothing stumbles, and a known head never lies below a message told since."""
    hearing = listening()
    newest = 0
    for event, data in events:
        hearing.hear(event, data)
        head = hearing.book.head(GENERAL)
        if head is None or event == "GUILD_CREATE":
            newest = 0
        elif event == "MESSAGE_CREATE":
            newest = max(newest, int(data["id"]))
        assert head is None or (head.newest or 0) >= newest
