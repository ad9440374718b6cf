"""Discord's messages and channels in our words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.discord.shapes import channel, message, thread
from tidegate.core.ids import ChannelId, GuildId, MessageId
from tidegate.platforms.discord.permissions import EVERYTHING, NOTHING
from tidegate.platforms.discord.translation import (
    channel_of,
    head_of,
    holds_messages,
    message_of,
    messages_of,
)
from tidegate.platforms.interface import ChannelKind, FileKind, Reaction

ATTACHMENT = {
    "id": "77",
    "filename": "tides.zip",
    "size": 1234,
    "content_type": "application/zip",
    "url": "https://cdn.discordapp.com/attachments/800/77/tides.zip?ex=1&is=2&hm=3",
    "proxy_url": "https://media.discordapp.net/attachments/800/77/tides.zip?ex=1&is=2&hm=3",
}


def test_a_message_in_our_words() -> None:
    """Who, when, what, and that nobody edited it; what Discord says of nothing leaves no trace."""
    found = message_of(message(1))
    assert (found.id, found.author, found.author_id, found.text) == (MessageId(1), "Ada", 5, "hello")
    assert found.at == datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    assert found.edited_at is None
    assert not found.automatic
    assert (found.service, found.thread, found.raw) == ("", None, {})


def test_attachments_are_read_by_their_addresses_until_these_expire() -> None:
    """An address expires within a day, so it is the handle of the file and no part of what is kept of the message."""
    found = message_of(message(9, attachments=[ATTACHMENT]))
    [file] = found.files
    assert (file.id, file.name, file.size, file.kind) == (77, "tides.zip", 1234, FileKind.DOCUMENT)
    assert (file.handle, file.valid_until) == (ATTACHMENT["url"], datetime.fromtimestamp(1, UTC))
    assert "discordapp" not in str(found.raw)


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("image/png", FileKind.PHOTO),
        ("video/mp4", FileKind.MEDIA),
        ("audio/ogg", FileKind.MEDIA),
        (None, FileKind.DOCUMENT),
    ],
)
def test_what_people_see_of_a_file(mime: str | None, kind: FileKind) -> None:
    """Pictures and recordings are shown as such, all else as a document."""
    assert message_of(message(attachments=[{**ATTACHMENT, "content_type": mime}])).files[0].kind is kind


def test_a_system_message_names_what_happened() -> None:
    """H-13: joins and the like are messages too; what a person or a bot wrote is none of them."""
    assert message_of(message(type=7, content="")).service == "new_member"
    assert [message_of(message(type=kind)).service for kind in (0, 19, 20, 23)] == ["", "", "", ""]
    assert message_of(message(type=999)).service == "unknown_999"


def test_who_is_no_person() -> None:
    """Bots and webhooks are marked."""
    assert message_of(message(author={"id": "6", "username": "hook"}, webhook_id="6")).automatic
    assert message_of(message(author={"id": "6", "username": "b", "bot": True})).automatic


def test_a_thread_under_a_message() -> None:
    """H-39: found by the flag of the message it hangs under, or by the announcement of one made apart."""
    assert message_of(message(31, flags=1 << 5)).thread == ChannelId(31)
    made = message(32, type=18, flags=1 << 5, message_reference={"channel_id": "99"})
    assert message_of(made).thread == ChannelId(99)


def test_replies_name_the_message_they_answer() -> None:
    """A reply within its channel; a forwarded message is none."""
    reply = message(type=19, message_reference={"message_id": "3", "channel_id": "800"})
    assert message_of(reply).reply_to == MessageId(3)
    forwarded = message(message_reference={"type": 1, "message_id": "3", "channel_id": "800"})
    assert message_of(forwarded).reply_to is None
    assert message_of(message(type=19, message_reference={"message_id": "3", "channel_id": "4"})).reply_to is None


def test_reactions_are_counted_by_sign() -> None:
    """Plain signs by themselves, those of a guild with their number."""
    found = message(
        reactions=[
            {"emoji": {"id": None, "name": "👍"}, "count": 2, "me": False},
            {"emoji": {"id": "88", "name": "wave"}, "count": 1, "me": True},
        ]
    )
    assert message_of(found).reactions == (Reaction("👍", 2), Reaction("wave:88", 1))


@given(st.lists(st.integers(1, 1 << 60), unique=True, max_size=20).flatmap(st.permutations))
def test_a_page_is_newest_first_whatever_its_order(numbers: list[int]) -> None:
    """Messages of one millisecond have come swapped: a page is ordered by number, and none is lost."""
    assert [one.id for one in messages_of(message(number) for number in numbers)] == sorted(numbers, reverse=True)


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (0, ChannelKind.CHANNEL),
        (1, ChannelKind.PRIVATE_CHAT),
        (2, ChannelKind.VOICE),
        (3, ChannelKind.PRIVATE_CHAT),
        (5, ChannelKind.ANNOUNCEMENT),
        (13, ChannelKind.VOICE),
        (15, ChannelKind.BOARD),
        (16, ChannelKind.BOARD),
        (99, ChannelKind.CHANNEL),
    ],
)
def test_kinds_of_channels(kind: int, ours: ChannelKind) -> None:
    """Each of Discord's kinds that holds messages or threads; one that is new to us is read like any channel."""
    found = channel(kind=kind)
    assert holds_messages(found)
    assert channel_of(found, EVERYTHING).kind is ours


def test_categories_are_no_channels() -> None:
    """A category and a directory hold no messages."""
    assert not holds_messages(channel(kind=4))
    assert not holds_messages(channel(kind=14))


def test_a_thread_in_our_words() -> None:
    """Its parent, whether it sleeps, whether it is private, and how much was ever posted."""
    found = thread(kind=12, archived=True)
    ours = channel_of(found, NOTHING)
    assert (ours.kind, ours.guild, ours.parent) == (ChannelKind.THREAD, GuildId(700), ChannelId(800))
    assert ours.archived
    assert ours.private
    assert not any((ours.visible, ours.readable, ours.may_post))
    head = head_of(found, ours)
    assert (head.newest, head.messages, head.posted) == (MessageId(42), 3, 5)


def test_a_channel_has_a_description() -> None:
    """Its topic, which a thread and a chat do not have."""
    assert channel_of(channel(topic="About tides"), EVERYTHING).description == "About tides"
    assert channel_of(channel(topic=None), EVERYTHING).description == ""
    assert channel_of(thread(), EVERYTHING).description == ""


def test_a_message_without_a_readable_time_has_that_of_its_number() -> None:
    """Discord numbers messages by their time."""
    found = message_of(message(175928847299117063, timestamp="soon"))
    assert found.at == datetime(2016, 4, 30, 11, 18, 25, 796_000, tzinfo=UTC)


def test_a_channel_without_messages_has_no_head() -> None:
    """H-11: nothing posted, as far as Discord tells."""
    found = channel(last_message_id=None)
    assert head_of(found, channel_of(found, EVERYTHING)).newest is None
