"""Polls: what is asked, and how often each answer was chosen."""

from __future__ import annotations

from typing import Any

from tidegate.core.message_content import MessageCounts, Poll, PollAnswer


def option_key(option: bytes) -> str:
    """What votes name an answer by: Telegram's bytes, which are mostly a digit."""
    text = option.decode("latin-1")
    return text if text.isascii() and text.isalnum() else f"hex:{option.hex()}"


def poll_of(found: Any, results: Any) -> Poll:
    """A poll as it is asked. Which answers are right is known after one's own vote, or when it is closed."""
    correct = {one.option for one in getattr(results, "results", None) or () if one.correct}
    return Poll(
        question=found.question.text,
        answers=tuple(_answer(one, correct) for one in found.answers),
        quiz=bool(found.quiz),
        multiple=bool(found.multiple_choice),
        public=bool(found.public_voters),
        closed=bool(found.closed),
        closes_at=found.close_date,
        explanation=getattr(results, "solution", None) or "",
    )


def _answer(found: Any, correct: set[bytes]) -> PollAnswer:
    return PollAnswer(option_key(found.option), found.text.text, found.option in correct if correct else None)


def poll_numbers(results: Any) -> dict[str, Any]:
    """The numbers of a poll, as fields of ``MessageCounts``; none of results that are marked ``min``.

    Those are the same for everybody and may lack what this account is told.
    """
    if results is None or results.min:
        return {}
    numbers: dict[str, Any] = {}
    if votes := {option_key(one.option): one.voters for one in results.results or () if one.voters is not None}:
        numbers["votes"] = votes
    if results.total_voters is not None:
        numbers["voters"] = results.total_voters
    return numbers


def poll_counts(results: Any) -> MessageCounts:
    return MessageCounts(**poll_numbers(results))
