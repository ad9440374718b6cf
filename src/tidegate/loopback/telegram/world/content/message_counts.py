"""What other people do to a message without writing: reactions, votes, views and forwards.

The counts move no pts. A reaction may come a second time as an edit, which does.
"""

from __future__ import annotations

from collections.abc import Sequence

from telethon.tl import TLObject, types

from tidegate.core.errors import BadInput
from tidegate.loopback.telegram.world.channels import Channel, Event, EventKind, Message
from tidegate.loopback.telegram.world.people import Person
from tidegate.loopback.telegram.world.world import World

_RECENT = 3


def change_count(held: int, count: int | None, change: int | None) -> int:
    """A count that is set, moved, or without either moved by one; never below zero."""
    return max(0, count if count is not None else held + (1 if change is None else change))


def react(
    world: World,
    channel: Channel,
    number: int,
    reaction: TLObject,
    *,
    count: int | None = None,
    change: int | None = None,
    people: Sequence[Person] = (),
    as_edit: bool | None = None,
) -> Message:
    """Somebody reacts. *people* are named as the ones who did; *as_edit* None means when a client is connected."""
    message = world.message(channel, number)
    held = message.fields.get("reactions") or types.MessageReactions([])
    counts = {bytes(row.reaction): row for row in held.results}
    before = counts.get(bytes(reaction))
    counts[bytes(reaction)] = types.ReactionCount(reaction, change_count(before.count if before else 0, count, change))
    results = sorted((row for row in counts.values() if row.count), key=lambda row: -row.count)
    recent = [types.MessagePeerReaction(types.PeerUser(person.id), world.clock.now(), reaction) for person in people]
    known = [row for row in held.recent_reactions or [] if counts[bytes(row.reaction)].count]
    message.fields["reactions"] = types.MessageReactions(
        results,
        can_see_list=not channel.broadcast,
        recent_reactions=[*recent, *known][:_RECENT] or None,
        top_reactors=held.top_reactors,
    )
    if not results:
        del message.fields["reactions"]
    _tell(world, channel, EventKind.REACTIONS, number)
    if world.is_watched(channel) if as_edit is None else as_edit:
        world.edit(channel, number, hidden=True)
    return message


def vote(
    world: World,
    channel: Channel,
    number: int,
    option: int,
    *,
    count: int | None = None,
    change: int | None = None,
    total: int | None = None,
) -> Message:
    """Somebody votes for an answer, by its place. With several choices a person may be counted more than once."""
    message = world.message(channel, number)
    media = message.fields.get("media")
    if not isinstance(media, types.MessageMediaPoll):
        raise BadInput(f"Message {number} of {channel.title} is not a poll.")
    if not 0 <= option < len(media.poll.answers):
        raise BadInput(f"The poll has no answer {option}; its answers are 0 to {len(media.poll.answers) - 1}.")
    held = {row.option: row for row in media.results.results or []}
    rows = [held.get(answer.option) or types.PollAnswerVoters(answer.option) for answer in media.poll.answers]
    for row in rows:  # both are given, or neither
        row.voters, row.recent_voters = row.voters or 0, row.recent_voters or []
    before = rows[option].voters or 0
    rows[option].voters = change_count(before, count, change)
    voters = [row.voters or 0 for row in rows]
    moved = max(0, (media.results.total_voters or 0) + rows[option].voters - before)
    expected = max(moved, *voters) if media.poll.multiple_choice else sum(voters)
    media.results.results = rows
    media.results.total_voters = expected if total is None else total
    _tell(world, channel, EventKind.POLL, number)
    return message


def view(
    world: World, channel: Channel, numbers: Sequence[int], *, views: int | None = None, forwards: int | None = None
) -> None:
    """People see messages and forward them; without numbers each is seen once more."""
    for number in numbers:
        message = world.message(channel, number)
        message.fields.setdefault("views", 0)  # the schema has both or neither
        message.fields.setdefault("forwards", 0)
        if views is not None or forwards is None:
            message.fields["views"] = change_count(message.fields["views"], views, None)
            _tell(world, channel, EventKind.VIEWS, number)
        if forwards is not None:
            message.fields["forwards"] = forwards
            _tell(world, channel, EventKind.FORWARDS, number)


def show_preview(world: World, channel: Channel, number: int, page: TLObject) -> Message:
    """The preview of a link arrives after its message; this moves pts, and no difference has it."""
    message = world.message(channel, number)
    held = message.fields.get("media")
    if message.file or not isinstance(held, types.MessageMediaWebPage | None):
        raise BadInput(f"Message {number} of {channel.title} has media, so it has no preview.")
    if held is not None and isinstance(held.webpage, types.WebPagePending) and hasattr(page, "id"):
        page.id = held.webpage.id  # clients find the message by the number that it awaits
    message.fields["media"] = held or types.MessageMediaWebPage(page)
    message.fields["media"].webpage = page
    world.tell(channel, world.note(channel, EventKind.WEB_PAGE, (number,)))
    return message


def _tell(world: World, channel: Channel, kind: EventKind, number: int) -> None:
    world.tell(channel, Event(0, 0, kind, (number,)))
