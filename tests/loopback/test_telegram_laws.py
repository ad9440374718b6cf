"""Laws of the world that hold for every order of events: without them no test built on it would prove anything."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from telethon.tl import functions, types

from tests.held import NOON
from tidegate.core.clock import HeldClock
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.method_context import Request
from tidegate.loopback.telegram.methods.messages import get_channel_difference, get_history, search
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.record import Session
from tidegate.loopback.telegram.world.world import SignIn

EVENTS = st.lists(st.tuples(st.sampled_from(["post", "file", "edit", "delete"]), st.integers(0, 1_000)), max_size=60)


def a_world() -> tuple[World, Channel]:
    world = World(HeldClock(NOON))
    world.add_account("+1")
    return world, world.add_channel("Models")


def happen(world: World, channel: Channel, events: list[tuple[str, int]]) -> None:
    """Let each event happen; the number picks the message it happens to."""
    for kind, number in events:
        living = [message.id for message in channel.messages.values() if not message.action]
        if kind in ("post", "file") or not living:
            world.post(channel, f"text {number}", file=world.add_file("x.zip", 1) if kind == "file" else None)
        elif kind == "edit":
            world.edit(channel, living[number % len(living)], text=f"edited {number}")
        else:
            world.delete(channel, {living[number % len(living)], living[-1]})


def texts(channel: Channel) -> dict[int, str]:
    return {message.id: message.text for message in channel.messages.values()}


def ask(world: World, channel: Channel, method: Any, query: Any) -> Any:
    sign_in = SignIn(b"", account=1_000_001)
    peer = types.InputPeerChannel(channel.id, world.token("channel", 1_000_001, channel.id))
    return method(Request(world, sign_in, "", query(peer), {}, Session(1, NOON, centre=2)))


@settings(max_examples=150)
@given(before=EVENTS, after=EVENTS, limit=st.integers(1, 100))
def test_who_follows_the_difference_has_the_truth(
    before: list[tuple[str, int]], after: list[tuple[str, int]], limit: int
) -> None:
    """From any point of a channel's log, the pages of the difference lead to what the platform holds (S-30)."""
    world, channel = a_world()
    happen(world, channel, before)
    mirror, pts = texts(channel), channel.pts
    happen(world, channel, after)
    for _ in range(200):
        answer = ask(
            world,
            channel,
            get_channel_difference,
            lambda peer, pts=pts: functions.updates.GetChannelDifferenceRequest(
                peer, types.ChannelMessagesFilterEmpty(), pts, limit
            ),
        )
        for message in getattr(answer, "new_messages", []):
            mirror[message.id] = message.message or ""
        for update in getattr(answer, "other_updates", []):
            if isinstance(update, types.UpdateEditChannelMessage):
                mirror[update.message.id] = update.message.message
            else:
                for number in update.messages:
                    mirror.pop(number, None)
        assert answer.pts > pts or isinstance(answer, types.updates.ChannelDifferenceEmpty)
        pts = answer.pts
        if answer.final:
            break
    assert (mirror, pts) == (texts(channel), channel.pts)


@settings(max_examples=100)
@given(events=EVENTS, limit=st.integers(1, 100), min_id=st.integers(0, 40))
def test_who_walks_the_pages_sees_every_message_once(events: list[tuple[str, int]], limit: int, min_id: int) -> None:
    """Whatever the page size, searches and history give what lies above the bound, newest first, nothing twice."""
    world, channel = a_world()
    happen(world, channel, events)
    files = [message.id for message in channel.messages.values() if message.file and message.id > min_id]
    every = [number for number in channel.messages if number > min_id]

    def searching(peer: Any, offset: int) -> Any:
        return functions.messages.SearchRequest(
            peer, "", types.InputMessagesFilterDocument(), None, None, offset, 0, limit, 0, min_id, 0
        )

    def reading(peer: Any, offset: int) -> Any:
        return functions.messages.GetHistoryRequest(peer, offset, None, 0, limit, 0, min_id, 0)

    for method, query, expected in ((search, searching, files), (get_history, reading, every)):
        found: list[int] = []
        for _ in range(len(expected) + 1):
            offset = found[-1] if found else 0
            answer = ask(world, channel, method, lambda peer, query=query, offset=offset: query(peer, offset))
            found += [message.id for message in answer.messages]
        assert found == expected[::-1]
