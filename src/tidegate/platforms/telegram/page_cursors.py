"""Cursors of listings, and whether a page was the last. Pure.

Telegram's pages may be short, shift while they are read, and repeat themselves. A short page is never the end. A page
without anything new is an error, not an end.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from telethon import utils
from telethon.extensions import BinaryReader
from telethon.tl import types

from tidegate.core.errors import PlatformError
from tidegate.core.ids import MessageId, TopicId
from tidegate.platforms.interface import CannotAsk, Cursor

_NO_MESSAGE = MessageId(0)
_FIRST_TOPICS = Cursor("0:0:0")
_FOLDERS = (0, 1)  # the main list of chats, then the archived ones


@dataclass(frozen=True, slots=True)
class DialogOffset:
    """The cursor of a listing of dialogs: folder and dialog."""

    folder: int = _FOLDERS[0]
    date: datetime | None = None
    message: MessageId = _NO_MESSAGE
    peer: Any = field(default_factory=types.InputPeerEmpty)

    @classmethod
    def parse(cls, cursor: Cursor | None) -> DialogOffset:
        if cursor is None:
            return cls()
        folder, date, message, peer = cursor.split(":")
        with BinaryReader(base64.urlsafe_b64decode(peer)) as reader:
            return cls(int(folder), _date(int(date)), MessageId(int(message)), reader.tgread_object())

    @property
    def cursor(self) -> Cursor:
        peer = base64.urlsafe_b64encode(bytes(self.peer)).decode()
        return Cursor(f"{self.folder}:{_seconds(self.date)}:{self.message}:{peer}")


def after_dialogs(answer: Any, at: DialogOffset) -> Cursor | None:
    """The cursor after *answer*, which was requested at *at*; None when the listing is complete."""
    if isinstance(answer, types.messages.Dialogs) or not answer.dialogs:
        later = [folder for folder in _FOLDERS if folder > at.folder]
        return DialogOffset(later[0]).cursor if later else None
    dates = {(utils.get_peer_id(one.peer_id), one.id): one.date for one in answer.messages if one.peer_id}
    peers = {utils.get_peer_id(one): one for one in (*answer.users, *answer.chats)}
    for dialog in reversed(answer.dialogs):
        peer = utils.get_peer_id(dialog.peer)
        if (peer, dialog.top_message) in dates and peer in peers:
            date = dates[peer, dialog.top_message]
            following = DialogOffset(at.folder, date, dialog.top_message, utils.get_input_peer(peers[peer])).cursor
            return _leading_on(following, at.cursor)
    raise PlatformError("Telegram listed dialogs without a message to go on from.")


@dataclass(frozen=True, slots=True)
class TopicOffset:
    """The cursor of a listing of topics."""

    date: datetime | None
    message: MessageId
    topic: TopicId

    @classmethod
    def parse(cls, cursor: Cursor | None) -> TopicOffset:
        date, message, topic = (int(part) for part in (cursor or _FIRST_TOPICS).split(":"))
        return cls(_date(date), MessageId(message), TopicId(topic))

    @property
    def cursor(self) -> Cursor:
        return Cursor(f"{_seconds(self.date)}:{self.message}:{self.topic}")


def after_topics(answer: types.messages.ForumTopics, at: TopicOffset) -> Cursor | None:
    """The cursor after *answer*; None after an empty page, which alone is the end.

    The last row decides. A deleted topic has no message to continue from, and a row's message may be missing: then the
    row before it is used. In a forum ordered by date of creation, any row except a deleted one is enough.
    """
    if not answer.topics:
        return None
    dates = {one.id: one.date for one in answer.messages if isinstance(one, types.Message | types.MessageService)}
    for topic in reversed(answer.topics):
        if isinstance(topic, types.ForumTopicDeleted):
            continue
        date = topic.date if answer.order_by_create_date else dates.get(topic.top_message)
        if date is not None:
            return _leading_on(TopicOffset(date, topic.top_message, topic.id).cursor, at.cursor)
    # Only deleted topics, or none with its message: the number of the last one is all that is left.
    return _leading_on(TopicOffset(at.date, at.message, answer.topics[-1].id).cursor, at.cursor)


def is_end(answer: Any, *, before: MessageId | None, above: MessageId | None) -> bool:
    """Whether a page of messages below *before* was the last one above *above*.

    The end is an exact page without messages, or one that reaches the lower bound; a channel's first message is 1.
    """
    numbers: list[int] = [one.id for one in answer.messages]
    if not numbers:
        if getattr(answer, "inexact", False):
            raise PlatformError("Telegram answered with an empty page and said that it may be wrong.")
        return True
    if before is not None and max(numbers) >= before:
        raise PlatformError(f"Telegram was asked for messages below {before} and answered with {max(numbers)}.")
    return min(numbers) <= (above or 0) + 1


def in_batch(ids: Sequence[Any], most: int = 100) -> Sequence[Any]:
    """The same numbers; raises for more than Telegram answers at once, because the rest would be lost silently."""
    if len(ids) > most:
        raise CannotAsk(f"Telegram answers for {most} at once, and was to be asked for {len(ids)}.")
    return ids


def _leading_on(following: Cursor, before: Cursor) -> Cursor:
    if following == before:
        raise PlatformError("Telegram's listing does not lead on: the next page would begin where this one did.")
    return following


def _date(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _seconds(date: datetime | None) -> int:
    return int(date.timestamp()) if date else 0
