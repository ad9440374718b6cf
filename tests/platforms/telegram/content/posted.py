"""Messages as Telegram sends them, for the tests of their translation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from telethon.tl import types

from tidegate.platforms.interface import Message
from tidegate.platforms.telegram import translation
from tidegate.platforms.telegram.content.people import People, people_in

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHERE = types.PeerChannel(77)
ADA, BOB, CAROL, BOT = types.PeerUser(1), types.PeerUser(2), types.PeerUser(3), types.PeerUser(4)


def user(number: int, name: str = "", **fields: Any) -> types.User:
    return types.User(number, first_name=name or None, **fields)


def channel(number: int, title: str, **fields: Any) -> types.Channel:
    return types.Channel(number, title, types.ChatPhotoEmpty(), NOON, **fields)


def described(*found: Any) -> People:
    """The people and channels of an answer."""
    users = [one for one in found if isinstance(one, types.User | types.UserEmpty)]
    return people_in(types.Updates([], users, [one for one in found if one not in users], NOON, 0))


PEOPLE = described(
    user(1, "Ada"), user(2, "Bob"), user(3, "Carol"), user(4, "Gifs", bot=True, username="gif"), channel(77, "Models")
)


def message(**fields: Any) -> types.Message:
    return types.Message(**{"id": 5, "peer_id": WHERE, "date": NOON, "message": "hello", **fields})


def service(action: Any, **fields: Any) -> types.MessageService:
    return types.MessageService(**{"id": 6, "peer_id": WHERE, "date": NOON, "action": action, **fields})


def read(found: Any, people: People = PEOPLE) -> Message:
    """One message as our value."""
    translated = translation.message_of(found, people)
    assert translated is not None
    return translated
