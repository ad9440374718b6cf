"""Polls and their results. Pure.

Results change without an edit, so they are numbers and not content. Discord leaves them out where it does not know
them, and then they are not zero.
"""

from __future__ import annotations

from tidegate.core.message_content import NO_COUNTS, MessageCounts, Poll, PollAnswer
from tidegate.platforms.discord.messages.emoji import emoji_text
from tidegate.platforms.discord.messages.json_values import (
    instant_in,
    number_in,
    object_in,
    objects_in,
    text_in,
    whole_in,
)
from tidegate.platforms.discord.permissions import Json


def poll_of(found: Json) -> Poll | None:
    poll = object_in(found.get("poll"))
    if not poll:
        return None
    return Poll(
        question=_said(poll.get("question")),
        answers=tuple(PollAnswer(key, _said(one.get("poll_media"))) for key, one in _answers(poll)),
        multiple=bool(poll.get("allow_multiselect")),
        public=True,
        closed=bool(object_in(poll.get("results")).get("is_finalized")),
        closes_at=instant_in(poll.get("expiry")),
    )


def counts_of(found: Json) -> MessageCounts:
    """How often each answer was chosen. Discord does not say how many people voted."""
    poll = found.get("poll")
    results = object_in(poll).get("results")
    if not poll or not isinstance(results, dict):
        return NO_COUNTS
    votes = {key: 0 for key, _ in _answers(object_in(poll))}
    for one in objects_in(results.get("answer_counts")):
        if (number := number_in(one.get("id"))) is not None:
            votes[str(number)] = whole_in(one.get("count"))
    return MessageCounts(votes=votes)


def _answers(poll: Json) -> list[tuple[str, Json]]:
    """Answers with their keys; Discord numbers them from one on."""
    numbered = enumerate(objects_in(poll.get("answers")), start=1)
    return [(str(number_in(one.get("answer_id")) or place), one) for place, one in numbered]


def _said(value: object) -> str:
    media = object_in(value)
    return " ".join(filter(None, (emoji_text(media.get("emoji")), text_in(media.get("text")))))
