"""Where a listing goes on, and when it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import types

from tidegate.core.errors import PlatformError
from tidegate.core.ids import MessageId
from tidegate.platforms.interface import CannotAsk, Cursor
from tidegate.platforms.telegram.page_cursors import (
    DialogOffset,
    TopicOffset,
    after_dialogs,
    after_topics,
    in_batch,
    is_end,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
START = TopicOffset.parse(None)
QUIET = types.PeerNotifySettings()


def message(number: int, *, channel: int = 77, ago: int = 0) -> types.Message:
    return types.Message(number, types.PeerChannel(channel), date=NOON - timedelta(minutes=ago), message="")


def topic(number: int, top: int, *, made_ago: int = 0) -> types.ForumTopic:
    made = NOON - timedelta(days=made_ago)
    return types.ForumTopic(
        number, made, types.PeerChannel(77), "x", 1, top, 0, 0, 0, 0, 0, 0, types.PeerUser(1), QUIET
    )


def topics(rows: list[Any], messages: list[Any], *, by_creation: bool = False) -> types.messages.ForumTopics:
    return types.messages.ForumTopics(9, rows, messages, [], [], pts=1, order_by_create_date=by_creation)


def pages(*numbers: int, inexact: bool = False) -> types.messages.ChannelMessages:
    found = [message(number) for number in numbers]
    return types.messages.ChannelMessages(1, len(found), found, [], [], [], inexact=inexact)


class TestTopics:
    def test_s69_only_an_empty_page_ends_the_list(self) -> None:
        """S-69: a page of 63 goes on, and the empty one after it is the end."""
        rows = [topic(number, 1_000 - number) for number in range(1, 64)]
        short = topics(rows, [message(1_000 - number, ago=number) for number in range(1, 64)])
        following = after_topics(short, START)
        assert following is not None
        assert TopicOffset.parse(following) == TopicOffset(NOON - timedelta(minutes=63), 937, 63)
        assert after_topics(topics([], []), TopicOffset.parse(following)) is None

    def test_s71_a_deleted_last_row_does_not_stop_the_walk(self) -> None:
        """S-71: the last row that has a message says where to go on."""
        answer = topics([topic(5, 50), topic(6, 40), types.ForumTopicDeleted(7)], [message(50), message(40, ago=9)])
        assert TopicOffset.parse(after_topics(answer, START)) == TopicOffset(NOON - timedelta(minutes=9), 40, 6)

    def test_a_missing_message_of_the_last_row_is_passed_over(self) -> None:
        """The walk then repeats that row, which is harmless, instead of losing what follows."""
        answer = topics([topic(5, 50), topic(6, 40)], [message(50, ago=3)])
        assert TopicOffset.parse(after_topics(answer, START)) == TopicOffset(NOON - timedelta(minutes=3), 50, 5)

    def test_a_page_of_deleted_topics_leads_on(self) -> None:
        """Nothing but numbers: the last of them is enough to go on, once."""
        answer = topics([types.ForumTopicDeleted(6), types.ForumTopicDeleted(7)], [])
        following = after_topics(answer, START)
        assert following == Cursor("0:0:7")
        with pytest.raises(PlatformError, match="does not lead on"):
            after_topics(answer, TopicOffset.parse(following))

    def test_by_creation_the_topics_own_date_counts(self) -> None:
        """A forum ordered by creation is walked by creation."""
        answer = topics([topic(5, 50, made_ago=3)], [message(50)], by_creation=True)
        assert TopicOffset.parse(after_topics(answer, START)).date == NOON - timedelta(days=3)


class TestDialogs:
    def dialog(self, number: int, top: int) -> types.Dialog:
        return types.Dialog(types.PeerChannel(number), top, 0, 0, 0, 0, 0, 0, QUIET, pts=1)

    def channel(self, number: int) -> types.Channel:
        return types.Channel(number, "x", types.ChatPhotoEmpty(), NOON, access_hash=number * 2)

    def test_archived_chats_follow_those_in_plain_sight(self) -> None:
        """Both folders are listed, each to its end; a complete answer needs no second one."""
        whole = types.messages.Dialogs([self.dialog(1, 5)], [message(5, channel=1)], [self.channel(1)], [])
        archived = after_dialogs(whole, DialogOffset.parse(None))
        assert DialogOffset.parse(archived).folder == 1
        assert after_dialogs(whole, DialogOffset.parse(archived)) is None

    def test_a_slice_goes_on_from_its_last_dialog(self) -> None:
        """With the date and number of its message and the peer itself, as Telegram wants it."""
        rows = [self.dialog(1, 5), self.dialog(2, 6)]
        found = [message(5, channel=1), message(6, channel=2, ago=4)]
        part = types.messages.DialogsSlice(9, rows, found, [self.channel(1), self.channel(2)], [])
        at = DialogOffset.parse(after_dialogs(part, DialogOffset.parse(None)))
        assert (at.folder, at.date, at.message) == (0, NOON - timedelta(minutes=4), 6)
        assert (at.peer.channel_id, at.peer.access_hash) == (2, 4)
        with pytest.raises(PlatformError, match="does not lead on"):
            after_dialogs(part, at)

    def test_an_empty_slice_ends_its_folder(self) -> None:
        """Only an empty page ends a list that comes in slices."""
        nothing = types.messages.DialogsSlice(9, [], [], [], [])
        assert DialogOffset.parse(after_dialogs(nothing, DialogOffset.parse(None))).folder == 1

    def test_dialogs_without_messages_are_trouble(self) -> None:
        """There is nothing to go on from, and the end was not told."""
        part = types.messages.DialogsSlice(9, [self.dialog(1, 5)], [], [self.channel(1)], [])
        with pytest.raises(PlatformError, match="to go on from"):
            after_dialogs(part, DialogOffset.parse(None))


class TestMessages:
    def test_s26_a_short_page_is_not_the_end(self) -> None:
        """S-26: 37 of 100 say nothing about what lies below."""
        assert not is_end(pages(*range(137, 100, -1)), before=None, above=MessageId(50))

    def test_an_empty_page_is_the_end_unless_it_may_be_wrong(self) -> None:
        """platform-ends-history: Telegram's word, and only when it stands by it."""
        assert is_end(pages(), before=MessageId(9), above=None)
        with pytest.raises(PlatformError, match="may be wrong"):
            is_end(pages(inexact=True), before=MessageId(9), above=None)

    @given(lowest=st.integers(1, 500), above=st.integers(0, 499))
    def test_the_lower_bound_is_the_end(self, lowest: int, above: int) -> None:
        """Nothing can lie between the bound and the message right above it; for a whole history the bound is 0."""
        assert is_end(pages(600, lowest), before=None, above=MessageId(above)) is (lowest <= above + 1)

    def test_a_page_that_does_not_lead_down_is_trouble(self) -> None:
        """It would be read for ever, or be taken for the end."""
        with pytest.raises(PlatformError, match="below 40"):
            is_end(pages(45, 41), before=MessageId(40), above=None)

    def test_more_than_a_hundred_at_once_is_a_mistake_of_ours(self) -> None:
        """S-37: Telegram would silently answer for some of them only."""
        assert len(in_batch(range(100))) == 100
        with pytest.raises(CannotAsk, match="101"):
            in_batch(range(101))
