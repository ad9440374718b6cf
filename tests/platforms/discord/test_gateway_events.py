"""Gateway events as hints, and what the book makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from discord import Permissions
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.discord.shapes import CHANNEL, GUILD, ME, THREAD, channel, guild, message, overwrite, role, thread
from tidegate.core.ids import ChannelId, MessageId
from tidegate.platforms.discord.gateway.gateway_events import GatewayEvents
from tidegate.platforms.discord.gateway.guild_cache import GuildCache
from tidegate.platforms.discord.gateway.raw_client import INTENTS
from tidegate.platforms.interface import ChannelKind, UpdateHint, UpdateStream, Voted

GENERAL, THREADED = ChannelId(int(CHANNEL)), ChannelId(int(THREAD))
HISTORY = Permissions.read_message_history.flag
READY = {"session_id": "s1", "user": {"id": ME}, "guilds": [{"id": GUILD, "unavailable": True}]}


@pytest.fixture
def events() -> GatewayEvents:
    """One that has heard of one guild."""
    return listening()


def listening() -> GatewayEvents:
    made = GatewayEvents(GuildCache())
    made.read("READY", READY)
    made.read("GUILD_CREATE", guild())
    made.mark_complete()
    return made


def readable(events: GatewayEvents, number: ChannelId) -> bool:
    head = events.guilds.head(number)
    assert head is not None
    assert head.channel is not None
    return head.channel.readable


def test_a_session_begins_with_a_break_and_then_each_guild() -> None:
    """H-09: what was live ends; from the heads that each guild tells on, everything will be told."""
    events = GatewayEvents(GuildCache())
    assert events.read("READY", READY) == [UpdateHint(None, stream=UpdateStream.BROKEN)]
    assert events.awaited == {GUILD}
    assert events.known_heads() is None
    (began,) = events.read("GUILD_CREATE", guild())
    assert began.stream is UpdateStream.BEGAN
    assert {number: head.newest for number, head in (began.heads or {}).items()} == {GENERAL: 41, THREADED: 42}
    assert not events.awaited
    events.mark_complete()
    assert events.known_heads() == began.heads


def test_a_lost_connection_makes_what_is_known_uncertain(events: GatewayEvents) -> None:
    """H-08: until the session is resumed, nothing is told; then the sequence is unbroken."""
    assert events.pause() == UpdateHint(None, stream=UpdateStream.PAUSED)
    assert events.known_heads() is None
    events.read("MESSAGE_CREATE", message(50, guild_id=GUILD))
    assert events.read("RESUMED", {}) == [UpdateHint(None, stream=UpdateStream.RESUMED)]
    told = events.known_heads()
    assert told is not None
    assert told[GENERAL].newest == MessageId(50)


def test_a_message_moves_the_head(events: GatewayEvents) -> None:
    """And never back, whatever order messages come in; a thread counts what was posted."""
    for number in (60, 55):
        events.read("MESSAGE_CREATE", message(number, guild_id=GUILD, channel_id=THREAD))
    events.read("MESSAGE_DELETE", {"id": "60", "channel_id": THREAD, "guild_id": GUILD})
    head = events.guilds.head(THREADED)
    assert head is not None
    assert (head.newest, head.messages, head.posted) == (60, 4, 7)


def test_the_first_message_of_a_person_makes_their_chat_known(events: GatewayEvents) -> None:
    """DMs once seen are channels like any other."""
    known, posted = events.read("MESSAGE_CREATE", message(70, channel_id="66"))
    assert known.heads is not None
    told = known.heads[ChannelId(66)].channel
    assert told is not None
    assert (told.kind, told.title) == (ChannelKind.PRIVATE_CHAT, "Ada")
    assert told.readable
    assert posted.updates is not None
    assert len(events.read("MESSAGE_CREATE", message(71, channel_id="66"))) == 1
    assert events.read("CHANNEL_CREATE", {"id": "66", "type": 1}) == []


def test_mentions_get_the_names_of_the_guild(events: GatewayEvents) -> None:
    """Channels, threads and roles as they are called now; in a thread that nobody told of as well."""
    text = f"<#{CHANNEL}> <#{THREAD}> <@&{GUILD}> <#999>"
    names = {f"<#{CHANNEL}>": "general", f"<#{THREAD}>": "a thread", f"<@&{GUILD}>": f"role {GUILD}"}
    for place in (CHANNEL, "877"):
        (hint,) = events.read("MESSAGE_CREATE", message(70, channel_id=place, guild_id=GUILD, content=text))
        assert hint.updates is not None
        assert hint.updates.posted[0].content.mentions == names
    edit = {"id": "70", "channel_id": CHANNEL, "content": text, "edited_timestamp": "2026-02-03T04:05:06+00:00"}
    (hint,) = events.read("MESSAGE_UPDATE", edit)
    assert hint.updates is not None
    assert (hint.updates.patched[0].raw or {})["names"] == names


def test_a_mention_in_a_chat_with_one_person_has_no_names(events: GatewayEvents) -> None:
    """No guild tells them."""
    *_, hint = events.read("MESSAGE_CREATE", message(70, channel_id="66", content=f"<#{CHANNEL}>"))
    assert hint.updates is not None
    assert hint.updates.posted[0].content.mentions is None


@pytest.mark.parametrize("place", [{"channel_id": CHANNEL, "guild_id": GUILD}, {"channel_id": "66"}])
def test_a_vote_is_told_where_it_was_given(events: GatewayEvents, place: dict[str, str]) -> None:
    """In a guild and in a chat with one person."""
    (hint,) = events.read("MESSAGE_POLL_VOTE_ADD", {**place, "message_id": "70", "answer_id": 1, "user_id": "5"})
    assert hint.channel == ChannelId(int(place["channel_id"]))
    assert hint.updates is not None
    assert hint.updates.voted == [Voted(MessageId(70), "1", 1)]


def test_votes_are_asked_for() -> None:
    """Discord sends only what a session asks for when it begins."""
    assert INTENTS.guild_polls
    assert INTENTS.dm_polls


def test_a_changed_topic_is_told(events: GatewayEvents) -> None:
    """As the description of the channel."""
    (hint,) = events.read("CHANNEL_UPDATE", channel(guild_id=GUILD, topic="About tides"))
    assert hint.heads is not None
    told = hint.heads[GENERAL].channel
    assert told is not None
    assert told.description == "About tides"


def test_a_role_that_changes_is_told_for_the_channels_it_matters_to(events: GatewayEvents) -> None:
    """H-21: history closed by a role, at once and for threads too; opened again, they are readable."""
    (hint,) = events.read("GUILD_ROLE_UPDATE", {"guild_id": GUILD, "role": role(GUILD, Permissions.view_channel.flag)})
    assert set(hint.heads or ()) == {GENERAL, THREADED}
    assert not readable(events, GENERAL)
    opened = {"guild_id": GUILD, "role": role("701", HISTORY)}
    assert events.read("GUILD_ROLE_CREATE", opened) == []
    events.read("GUILD_MEMBER_UPDATE", {"guild_id": GUILD, "user": {"id": ME}, "roles": ["701"]})
    assert readable(events, GENERAL)
    events.read("GUILD_ROLE_DELETE", {"guild_id": GUILD, "role_id": "701"})
    assert not readable(events, GENERAL)


def test_roles_of_others_are_none_of_ours(events: GatewayEvents) -> None:
    """A member update of somebody else changes nothing."""
    assert events.read("GUILD_MEMBER_UPDATE", {"guild_id": GUILD, "user": {"id": "5"}, "roles": ["701"]}) == []


def test_an_owner_reads_everything(events: GatewayEvents) -> None:
    """Given the guild, the account may read what it could not."""
    shut = channel(permission_overwrites=[overwrite(GUILD, kind=0, deny=HISTORY)], guild_id=GUILD)
    events.read("CHANNEL_UPDATE", shut)
    assert not readable(events, GENERAL)
    events.read("GUILD_UPDATE", {"id": GUILD, "owner_id": ME, "roles": guild()["roles"]})
    assert readable(events, GENERAL)


def test_a_server_that_is_boosted_takes_larger_files(events: GatewayEvents) -> None:
    """Told once for its channels and threads; a tier that nobody knows yet leaves what was known."""
    (hint,) = events.read("GUILD_UPDATE", {**guild(), "premium_tier": 3})
    told = {number: head.channel.largest_file for number, head in (hint.heads or {}).items() if head.channel}
    assert told == {GENERAL: 100 << 20, THREADED: 100 << 20}
    assert events.read("GUILD_UPDATE", {**guild(), "premium_tier": 4})[0].heads == hint.heads


def test_a_channel_that_changes_takes_its_threads_along(events: GatewayEvents) -> None:
    """A thread goes by its parent's overwrites."""
    shut = channel(permission_overwrites=[overwrite(GUILD, kind=0, deny=HISTORY)], guild_id=GUILD, name="closed")
    hints = events.read("CHANNEL_UPDATE", shut)
    assert {hint.channel for hint in hints} == {GENERAL, THREADED}
    assert not readable(events, THREADED)


def test_channels_and_threads_come_and_go(events: GatewayEvents) -> None:
    """H-23: a deletion is told with no call; a channel takes its threads along."""
    (made,) = events.read("CHANNEL_CREATE", channel("801", guild_id=GUILD, last_message_id=None))
    assert made.channel == ChannelId(801)
    assert events.read("THREAD_DELETE", {"id": "999", "guild_id": GUILD}) == []
    gone = events.read("CHANNEL_DELETE", channel(guild_id=GUILD))
    assert {(hint.channel, hint.gone) for hint in gone} == {(GENERAL, True), (THREADED, True)}
    assert events.guilds.head(THREADED) is None


def test_a_category_is_no_channel(events: GatewayEvents) -> None:
    """It holds nothing, so nothing is told of it."""
    assert events.read("CHANNEL_CREATE", channel("802", kind=4, guild_id=GUILD)) == []


def test_a_new_thread_is_the_head_of_its_board(events: GatewayEvents) -> None:
    """H-39: a board's head is its newest thread."""
    events.read("CHANNEL_CREATE", channel("803", kind=15, guild_id=GUILD, last_message_id="804"))
    events.read("THREAD_CREATE", thread("900", parent_id="803"))
    head = events.guilds.head(ChannelId(803))
    assert head is not None
    assert head.newest == 900


def test_a_thread_that_is_archived_is_still_known(events: GatewayEvents) -> None:
    """H-40: it sleeps, and is told as such."""
    (hint,) = events.read("THREAD_UPDATE", thread(archived=True))
    assert hint.heads is not None
    told = hint.heads[THREADED].channel
    assert told is not None
    assert told.archived


def test_threads_that_came_in_sight(events: GatewayEvents) -> None:
    """All active ones are told; a known one that is not among them may be anything, and so is unknown."""
    hints = events.read("THREAD_LIST_SYNC", {"guild_id": GUILD, "channel_ids": [CHANNEL], "threads": [thread("851")]})
    assert [hint.channel for hint in hints] == [ChannelId(851)]
    assert events.guilds.head(THREADED) is None


def test_a_guild_in_an_outage_is_not_gone(events: GatewayEvents) -> None:
    """Its channels are unknown until it is back; then it tells from where on everything will come."""
    assert events.read("GUILD_DELETE", {"id": GUILD, "unavailable": True}) == []
    assert events.known_heads() == {}
    (began,) = events.read("GUILD_CREATE", guild())
    assert began.stream is UpdateStream.BEGAN


def test_a_guild_told_again_has_only_what_it_tells(events: GatewayEvents) -> None:
    """What was deleted while nobody could hear it is not carried over."""
    (began,) = events.read("GUILD_CREATE", guild(threads=[]))
    assert set(began.heads or ()) == {GENERAL}
    assert set(events.known_heads() or ()) == {GENERAL}


def test_a_guild_the_account_was_taken_out_of_is_gone(events: GatewayEvents) -> None:
    """Each of its channels is told as gone."""
    hints = events.read("GUILD_DELETE", {"id": GUILD})
    assert {(hint.channel, hint.gone) for hint in hints} == {(GENERAL, True), (THREADED, True)}


def test_a_session_that_begins_anew_knows_only_what_it_is_told(events: GatewayEvents) -> None:
    """What an older session knew of guilds is not carried over."""
    events.read("READY", {**READY, "guilds": []})
    events.mark_complete()
    assert events.known_heads() == {}


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
    listener = listening()
    newest = 0
    for event, data in events:
        listener.read(event, data)
        head = listener.guilds.head(GENERAL)
        if head is None or event == "GUILD_CREATE":
            newest = 0
        elif event == "MESSAGE_CREATE":
            newest = max(newest, int(data["id"]))
        assert head is None or (head.newest or 0) >= newest


def test_channels_carry_the_name_of_their_server(events: GatewayEvents) -> None:
    """GUILD_CREATE and GUILD_UPDATE have it, so it costs no call; a rename is told of every channel and thread."""
    renamed = {**guild(name="The quay"), "channels": None, "threads": None}
    (hint,) = events.read("GUILD_UPDATE", renamed)
    names = {number: head.channel and head.channel.server for number, head in (hint.heads or {}).items()}
    assert names == {GENERAL: "The quay", THREADED: "The quay"}
    assert events.read("GUILD_UPDATE", renamed) == []
