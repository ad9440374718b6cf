"""Forwards and replies: where a message comes from and what it answers."""

from __future__ import annotations

from typing import Any

from telethon.tl import types

from tests.platforms.telegram.content.posted import ADA, BOB, NOON, PEOPLE, message, read
from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.message_content import Forward, OriginKind, Reply, SpanKind, TextSpan

MODELS, MODELS_MARKED = types.PeerChannel(77), -1_000_000_000_077


def forwarded(**fields: Any) -> Forward | None:
    return read(message(fwd_from=types.MessageFwdHeader(NOON, **fields))).content.forward


def answered(**fields: Any) -> Reply | None:
    return read(message(reply_to=types.MessageReplyHeader(**fields))).content.reply


class TestForwards:
    def test_from_a_person(self) -> None:
        """By the name of the answer, with when it was first written."""
        assert forwarded(from_id=ADA) == Forward(OriginKind.PERSON, "Ada", 1, NOON)

    def test_from_somebody_who_hides_their_account(self) -> None:
        """Only a name is told."""
        assert forwarded(from_name="Eve") == Forward(OriginKind.HIDDEN, "Eve", at=NOON)

    def test_from_a_channel(self) -> None:
        """With the number of the post there, and who signed it."""
        assert forwarded(from_id=MODELS, channel_post=9, post_author="Eve") == Forward(
            OriginKind.CHANNEL, "Models", MODELS_MARKED, NOON, MessageId(9), "Eve"
        )

    def test_from_another_app(self) -> None:
        """An imported message names its author by hand."""
        assert forwarded(from_name="Eve", imported=True) == Forward(OriginKind.IMPORT, "Eve", at=NOON)

    def test_somebody_not_described_keeps_the_number(self) -> None:
        """A name may be added later."""
        found = read(message(fwd_from=types.MessageFwdHeader(NOON, from_id=ADA)), {})
        assert found.content.forward == Forward(OriginKind.PERSON, "", 1, NOON)

    def test_where_a_copy_was_saved_from_is_kept(self) -> None:
        """What has no field of its own stays as it came; the rest is not stored twice."""
        header = types.MessageFwdHeader(NOON, from_id=ADA, saved_from_peer=MODELS, saved_from_msg_id=4)
        peer = {"_": "PeerChannel", "channel_id": 77}
        assert read(message(fwd_from=header)).raw == {
            "fwd_from": {"_": "MessageFwdHeader", "saved_from_peer": peer, "saved_from_msg_id": 4}
        }


class TestReplies:
    def test_a_plain_reply_is_a_number(self) -> None:
        """A message of the same channel needs no more, and nothing is stored twice."""
        found = read(message(reply_to=types.MessageReplyHeader(reply_to_msg_id=3)))
        assert (found.reply_to, found.content.reply, found.raw) == (3, None, {})

    def test_to_a_quotation(self) -> None:
        """The quoted piece comes with its formatting."""
        quoted = answered(
            reply_to_msg_id=3, quote=True, quote_text="😀 yes", quote_entities=[types.MessageEntityBold(3, 3)]
        )
        assert quoted == Reply(MessageId(3), quote="😀 yes", formatting=(TextSpan(SpanKind.BOLD, 2, 5),))

    def test_to_a_message_of_another_chat(self) -> None:
        """The channel is told, and who wrote there; such a number is no message of this channel."""
        header = types.MessageReplyHeader(
            reply_to_msg_id=3,
            reply_to_peer_id=types.PeerChannel(88),
            reply_from=types.MessageFwdHeader(NOON, from_id=BOB),
        )
        found = read(message(reply_to=header), PEOPLE)
        assert found.content.reply == Reply(MessageId(3), ChannelId(88), "Bob")
        assert found.reply_to is None

    def test_to_a_story(self) -> None:
        """With its number and owner."""
        found = read(message(reply_to=types.MessageReplyStoryHeader(peer=ADA, story_id=8)))
        assert found.content.reply == Reply(story=8, author="Ada")
        assert found.raw == {"reply_to": {"_": "MessageReplyStoryHeader", "peer": {"_": "PeerUser", "user_id": 1}}}

    def test_to_an_answer_of_a_poll_or_to_a_task(self) -> None:
        """The item is named as the poll or the list names it."""
        assert answered(reply_to_msg_id=3, poll_option=b"1") == Reply(MessageId(3), item="1")
        assert answered(reply_to_msg_id=3, todo_item_id=7) == Reply(MessageId(3), item="7")

    def test_the_root_of_a_topic_is_its_topic(self) -> None:
        """In a forum the header's root is stored as topic; elsewhere a thread's root is kept as it came."""
        forum = read(message(reply_to=types.MessageReplyHeader(forum_topic=True, reply_to_msg_id=3, reply_to_top_id=2)))
        thread = read(message(reply_to=types.MessageReplyHeader(reply_to_msg_id=3, reply_to_top_id=2)))
        assert (forum.topic, forum.raw) == (2, {})
        assert thread.raw == {"reply_to": {"_": "MessageReplyHeader", "reply_to_top_id": 2}}
