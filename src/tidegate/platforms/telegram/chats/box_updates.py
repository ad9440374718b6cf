"""Changes in an account's message box as our values: push updates, their short forms, and differences. Pure.

Private chats and small groups share the box. Every update of it moves one counter, whatever chat it is about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from telethon.tl import types

from tidegate.core.ids import ChannelId, MessageId
from tidegate.platforms.interface import (
    BoxDifference,
    BoxState,
    BoxTooLong,
    BoxUpdates,
    ChannelUpdates,
    Message,
    Patch,
    Previewed,
)
from tidegate.platforms.telegram.chats.chat_numbers import ChatNumbers
from tidegate.platforms.telegram.content.people import People, people_in
from tidegate.platforms.telegram.translation import message_of, pins_in, previews_in

COUNTED = (
    types.UpdateNewMessage,
    types.UpdateEditMessage,
    types.UpdateDeleteMessages,
    types.UpdatePinnedMessages,
    types.UpdateWebPage,
    types.UpdateReadHistoryInbox,
    types.UpdateReadHistoryOutbox,
    types.UpdateReadMessagesContents,
    types.UpdateFolderPeers,
)
"""Updates that move the box's counter. Without those that bring no message, later ones would seem to follow a gap."""

_SHORT = (types.UpdateShortMessage, types.UpdateShortChatMessage)
_SAID = (
    "id", "date", "message", "out", "mentioned", "media_unread", "silent", "fwd_from", "via_bot_id", "reply_to",
    "entities", "ttl_period",
)  # fmt: skip


def box_update(update: Any, people: People, chats: ChatNumbers) -> BoxUpdates | None:
    """One pushed update of the box; None for any other."""
    if isinstance(update, COUNTED):
        return _joined([update], people, chats, upto=update.pts, steps=update.pts_count)
    return None


def short_update(pushed: Any, chats: ChatNumbers) -> BoxUpdates | None:
    """The short form of one new message, which names no people; None for anything else."""
    if not isinstance(pushed, _SHORT):
        return None
    whole = types.UpdateNewMessage(_whole(pushed, chats), pushed.pts, pushed.pts_count)
    return _joined([whole], {}, chats, upto=pushed.pts, steps=pushed.pts_count)


def _whole(short: Any, chats: ChatNumbers) -> types.Message:
    """The message that a short form stands for."""
    said = {name: getattr(short, name) for name in _SAID}
    if isinstance(short, types.UpdateShortChatMessage):
        return types.Message(peer_id=types.PeerChat(short.chat_id), from_id=types.PeerUser(short.from_id), **said)
    author = types.PeerUser(chats.me) if short.out else None
    return types.Message(peer_id=types.PeerUser(short.user_id), from_id=author, **said)


def difference_of_box(answer: Any, since: BoxState, chats: ChatNumbers) -> BoxDifference | BoxTooLong:
    """What changed in the box since a state."""
    if isinstance(answer, types.updates.DifferenceTooLong):
        return BoxTooLong(BoxState(answer.pts, since.events, since.at))
    if isinstance(answer, types.updates.DifferenceEmpty):
        state = BoxState(since.changes, since.events, answer.date)
        return BoxDifference(BoxUpdates(since.changes, 0), state, final=True)
    final = isinstance(answer, types.updates.Difference)
    state = state_of(answer.state if final else answer.intermediate_state)
    new = [types.UpdateNewMessage(one, 0, 0) for one in answer.new_messages]
    people = people_in(answer)
    updates = _joined(
        [*new, *answer.other_updates], people, chats, upto=state.changes, steps=state.changes - since.changes
    )
    return BoxDifference(updates, state, final)


def state_of(found: types.updates.State) -> BoxState:
    return BoxState(found.pts, found.qts, found.date)


def _joined(updates: Iterable[Any], people: People, chats: ChatNumbers, *, upto: int, steps: int) -> BoxUpdates:
    posted: dict[ChannelId, list[Message]] = defaultdict(list)
    edited: dict[ChannelId, list[Message]] = defaultdict(list)
    patched: dict[ChannelId, list[Patch]] = defaultdict(list)
    previewed: list[Previewed] = []
    deleted: list[MessageId] = []
    for one in updates:
        previewed += previews_in(one)
        if isinstance(one, types.UpdateDeleteMessages):
            deleted += [MessageId(number) for number in one.messages]
        elif isinstance(one, types.UpdatePinnedMessages) and (pinned_in := chats.of(one.peer)) is not None:
            patched[pinned_in] += pins_in(one)
        elif isinstance(one, types.UpdateNewMessage | types.UpdateEditMessage):
            where = chats.of(getattr(one.message, "peer_id", None))
            message = message_of(with_author(one.message, chats), people)
            if where is not None and message is not None:
                (posted if isinstance(one, types.UpdateNewMessage) else edited)[where].append(message)
    found = {
        chat: ChannelUpdates(
            None, posted=posted.get(chat, ()), edited=edited.get(chat, ()), patched=patched.get(chat, ())
        )
        for chat in {**posted, **edited, **patched}
    }
    return BoxUpdates(upto, steps, found, deleted, previewed)


def with_author(found: Any, chats: ChatNumbers) -> Any:
    """The same message, with the account itself as the author of what it sent: in a private chat that is left out."""
    is_private = type(getattr(found, "peer_id", None)) is types.PeerUser and not isinstance(found, types.MessageEmpty)
    if is_private and found.from_id is None and found.out:
        found.from_id = types.PeerUser(chats.me)
    return found


def with_authors(answer: Any, chats: ChatNumbers) -> None:
    """Name the account as the author of what it sent, in each message of an answer."""
    for one in answer.messages:
        with_author(one, chats)
