"""Polls: who votes for which answer, and the end of a poll with the message about its result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.world.history import Message, PollState
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.world import World

POLL_RESULT = 46
"""The kind of the message about a poll that has ended."""


def vote(world: World, channel: Channel, number: int, answer: int, *, change: int = 1, user: int = 0) -> None:
    """*change* people vote, or take their vote back when it is negative; *user* is the one person meant.

    A poll with one choice: who votes again takes the first vote back, which is an event of its own.
    """
    message, poll = _poll(world, channel, number)
    if answer not in {one.get("answer_id") for one in poll.get("answers", ())}:
        raise BadInput(f"The poll has no answer {answer}.")
    state = message.poll or PollState()
    if state.finalized:
        raise BadInput("The poll has ended.")
    held = state.votes.get(answer, [])
    several = bool(poll.get("allow_multiselect"))
    if change < 0:
        for one in [user] if user else held[len(held) + change if len(held) + change > 0 else 0 :]:
            _withdraw(world, channel, number, answer, one)
        return
    voted = set(held) if several else {one for by in state.votes.values() for one in by}
    free = [one for one in world.crowd(len(voted) + change) if one not in voted]
    for one in [user] if user else free[:change]:
        earlier = [] if several else [key for key, by in state.votes.items() if one in by]
        for key in earlier:
            _withdraw(world, channel, number, key, one)
        _cast(world, channel, number, answer, one)


def end_poll(world: World, channel: Channel, number: int) -> Message:
    """The poll ends now: its result is final, and a message of the poll's author says who won."""
    message, poll = _poll(world, channel, number)
    state = message.poll or PollState()
    if state.finalized:
        raise BadInput("The poll has ended.")
    ended = {**poll, "expiry": world.clock.now().isoformat()}
    changed = replace(message, poll=PollState(state.votes, finalized=True), fields=message.fields | {"poll": ended})
    world.change_message(channel, changed)
    reference = {"type": 0, "message_id": str(number), "channel_id": str(channel.id)}
    reference |= {"guild_id": str(channel.guild)} if channel.guild else {}
    fields = {"embeds": [result_embed(poll, state)], "message_reference": reference}
    return world.post(channel, author=message.author, kind=POLL_RESULT, fields=fields)


def result_embed(poll: dict[str, Any], state: PollState) -> dict[str, Any]:
    """The embed that tells of a poll's result; a tie has no winner."""
    counts = {answer: len(by) for answer, by in state.votes.items() if by}
    most = max(counts.values(), default=0)
    winners = [answer for answer, count in counts.items() if count == most]
    told = {
        "poll_question_text": poll.get("question", {}).get("text", ""),
        "victor_answer_votes": str(most),
        "total_votes": str(sum(counts.values())),
    }
    if len(winners) == 1:
        media = next(one["poll_media"] for one in poll["answers"] if one.get("answer_id") == winners[0])
        emoji = media.get("emoji") or {}
        told |= {"victor_answer_id": str(winners[0]), "victor_answer_text": media.get("text", "")}
        told |= {"victor_answer_emoji_name": emoji["name"]} if emoji.get("name") else {}
        told |= {"victor_answer_emoji_id": emoji["id"]} if emoji.get("id") else {}
    fields = [{"name": name, "value": value, "inline": False} for name, value in told.items()]
    return {"type": "poll_result", "fields": fields, "content_scan_version": 0}


def _cast(world: World, channel: Channel, number: int, answer: int, user: int) -> None:
    votes = _votes(world, channel, number)
    if user not in votes.get(answer, []):
        _set(world, channel, number, votes | {answer: [*votes.get(answer, []), user]})
        _tell(world, channel, "MESSAGE_POLL_VOTE_ADD", message_id=str(number), answer_id=answer, user_id=str(user))


def _withdraw(world: World, channel: Channel, number: int, answer: int, user: int) -> None:
    votes = _votes(world, channel, number)
    if user in votes.get(answer, []):
        _set(world, channel, number, votes | {answer: [one for one in votes[answer] if one != user]})
        _tell(world, channel, "MESSAGE_POLL_VOTE_REMOVE", message_id=str(number), answer_id=answer, user_id=str(user))


def _votes(world: World, channel: Channel, number: int) -> dict[int, list[int]]:
    held = world.message(channel, number).poll
    return held.votes if held else {}


def _set(world: World, channel: Channel, number: int, votes: dict[int, list[int]]) -> None:
    channel.history.put(replace(world.message(channel, number), poll=PollState(votes)))


def _tell(world: World, channel: Channel, name: str, **data: Any) -> None:
    world.tell(News(name, world.guild_of(channel), channel, data=data))


def _poll(world: World, channel: Channel, number: int) -> tuple[Message, dict[str, Any]]:
    message = world.message(channel, number)
    poll = message.fields.get("poll")
    if not isinstance(poll, dict):
        raise BadInput(f"The message {number} of {channel.name} has no poll.")
    return message, poll
