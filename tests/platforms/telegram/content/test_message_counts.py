"""Numbers that change without an edit: views, reactions, votes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import types

from tests.platforms.telegram.content.posted import ADA, NOON, message, read
from tests.platforms.telegram.sample_objects import sample
from tidegate.core.message_content import MessageCounts, MessageKind, Poll, PollAnswer
from tidegate.platforms.interface import Reaction
from tidegate.platforms.telegram.content.polls import option_key


def text(words: str) -> types.TextWithEntities:
    return types.TextWithEntities(words, [])


def poll(**fields: Any) -> types.Poll:
    answers = [types.PollAnswer(text("Tea"), b"0"), types.PollAnswer(text("Coffee"), b"1")]
    return types.Poll(**{"id": 2**62, "question": text("What?"), "answers": answers, "hash": 5, **fields})


def results(**fields: Any) -> types.PollResults:
    votes = [types.PollAnswerVoters(b"0", voters=3), types.PollAnswerVoters(b"1", voters=0, correct=True, chosen=True)]
    return types.PollResults(**{"results": votes, "total_voters": 3, **fields})


def asked(poll: types.Poll, results: types.PollResults) -> types.Message:
    return message(media=types.MessageMediaPoll(poll, results))


class TestCounts:
    def test_views_forwards_and_replies_are_numbers(self) -> None:
        """Zero is a number too; what is not told is not."""
        found = read(message(views=10, forwards=0, replies=types.MessageReplies(4, 1)))
        assert found.counts == MessageCounts(views=10, forwards=0, replies=4)
        assert found.raw == {}

    def test_votes_are_by_the_keys_of_the_answers(self) -> None:
        """With how many people voted at all."""
        found = read(asked(poll(), results()))
        assert found.counts == MessageCounts(votes={"0": 3, "1": 0}, voters=3)

    def test_results_for_everybody_leave_the_votes_alone(self) -> None:
        """Results marked min must not overwrite what is known."""
        assert read(asked(poll(), results(min=True))).counts == MessageCounts()

    def test_hidden_votes_are_not_zero(self) -> None:
        """Before a poll ends its votes may be hidden."""
        hidden = results(results=[types.PollAnswerVoters(b"0"), types.PollAnswerVoters(b"1")], total_voters=None)
        assert read(asked(poll(), hidden)).counts == MessageCounts()

    @given(st.binary(max_size=100), st.binary(max_size=100))
    def test_every_answer_has_a_key_of_its_own(self, one: bytes, other: bytes) -> None:
        """Two answers of a poll never share one."""
        assert (option_key(one) == option_key(other)) == (one == other)


class TestPolls:
    def test_a_poll_is_asked_as_it_is(self) -> None:
        """Question and answers, with what voters may do."""
        found = read(asked(poll(multiple_choice=True, public_voters=True, close_date=NOON), types.PollResults()))
        answers = (PollAnswer("0", "Tea"), PollAnswer("1", "Coffee"))
        assert found.kind is MessageKind.POLL
        assert found.content.poll == Poll("What?", answers, multiple=True, public=True, closes_at=NOON)

    def test_a_quiz_tells_what_is_right_once_it_is_known(self) -> None:
        """And the explanation with it."""
        found = read(asked(poll(quiz=True, closed=True), results(solution="Because."))).content.poll
        answers = (PollAnswer("0", "Tea", correct=False), PollAnswer("1", "Coffee", correct=True))
        assert found == Poll("What?", answers, quiz=True, closed=True, explanation="Because.")

    def test_a_vote_is_no_edit(self) -> None:
        """Only the numbers differ between two readings."""
        before, after = (
            read(asked(poll(hash=1), types.PollResults())),
            read(asked(poll(hash=2, creator=True), results())),
        )
        right = tuple(replace(one, correct=None) for one in after.content.poll.answers)  # one's own vote tells it
        assert replace(after.content, poll=replace(after.content.poll, answers=right)) == before.content
        assert after.raw == before.raw == {"media": {"_": "MessageMediaPoll", "poll": {"_": "Poll", "id": str(2**62)}}}

    def test_formatted_answers_are_kept_as_they_came(self) -> None:
        """Plain ones are not stored twice."""
        question = types.TextWithEntities("What?", [types.MessageEntityBold(0, 4)])
        raw = read(asked(poll(question=question), results())).raw["media"]["poll"]
        assert raw["question"]["entities"] == [{"_": "MessageEntityBold", "offset": 0, "length": 4}]
        assert "answers" not in raw


class TestReactions:
    def test_every_kind_of_reaction_has_a_name(self) -> None:
        """Custom emoji by their number; the empty one is none."""
        kinds = [
            types.ReactionEmoji("👍"),
            types.ReactionCustomEmoji(2**62),
            types.ReactionPaid(),
            types.ReactionEmpty(),
        ]
        told = types.MessageReactions([types.ReactionCount(kind, 2) for kind in kinds])
        assert read(message(reactions=told)).reactions == tuple(
            Reaction(emoji, 2) for emoji in ("👍", f"custom:{2**62}", "paid")
        )

    def test_reactions_for_everybody_count(self) -> None:
        """Marked min they lack one's own choice, which is not kept; without them a message would lose its reactions."""
        told = types.MessageReactions([types.ReactionCount(types.ReactionEmoji("👍"), 2)], min=True)
        assert read(message(reactions=told)).reactions == (Reaction("👍", 2),)

    def test_comments_name_their_group_whatever_their_number(self) -> None:
        """A comment is no edit of the post: the discussion group is kept as it came, and of comments only a number."""
        before, after = (
            read(message(replies=types.MessageReplies(number, 1, comments=True, channel_id=7, max_id=number or None)))
            for number in (0, 12)
        )
        assert before.raw == after.raw == {"replies": {"_": "MessageReplies", "comments": True, "channel_id": 7}}
        assert (before.counts.replies, after.counts.replies) == (0, 12)

    @pytest.mark.parametrize("hidden", [True, False])
    def test_a_reaction_is_never_an_edit(self, hidden: bool) -> None:
        """Telegram sends one as an edit; nothing that makes an edit differs, however many other things moved."""
        media, again = (sample(types.MessageMediaPhoto, photo=sample(types.Photo)) for _ in range(2))
        again.photo.access_hash, again.photo.file_reference, again.photo.dc_id = 1, b"new", 4
        before = read(message(media=media, from_id=ADA, entities=[types.MessageEntityBold(0, 2)]))
        after = read(
            message(
                media=again, from_id=ADA, entities=[types.MessageEntityBold(0, 2)], edit_date=NOON, edit_hide=hidden,
                out=True, mentioned=True, media_unread=True, views=7, forwards=2, replies=types.MessageReplies(1, 1),
                reactions=types.MessageReactions([types.ReactionCount(types.ReactionEmoji("👍"), 2)]),
            )
        )  # fmt: skip
        unedited = ("kind", "text", "content", "raw", "author", "topic")
        assert [getattr(after, name) for name in unedited] == [getattr(before, name) for name in unedited]
        assert [file.id for file in after.files] == [file.id for file in before.files]
        assert after.edited_at == (None if hidden else NOON)
