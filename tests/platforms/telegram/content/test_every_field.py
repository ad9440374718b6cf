"""Nothing that Telegram says about a message is lost: it is in a field of ours, or kept as it came."""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import pytest
from telethon.tl import TLObject, types

from tests.platforms.telegram.content.posted import ADA, NOON, PEOPLE, message, read, service
from tests.platforms.telegram.sample_objects import ACTIONS, MEDIA, media, sample
from tidegate.core.ids import UserId
from tidegate.core.message_content import NO_COUNTS, PLAIN, MessageKind
from tidegate.history.content_json import content_json, read_content
from tidegate.history.raw_json import pack, unpack
from tidegate.loopback.telegram.tl_objects.tl_schema import arguments

LEFT_OUT = frozenset(
    {
        # of one account
        "access_hash", "file_reference", "credentials", "secret", "prepaid_upgrade_hash", "out", "mentioned", "creator",
        "media_unread", "chosen", "min", "has_unread_votes", "can_view_stats", "per_user_remains", "sent_reaction",
        "quick_reply_shortcut_id", "report_delivery_until_date", "reactions_are_possible",
        # of one moment
        "dc_id", "hash", "recent_voters", "views", "reactions", "sold_out", "availability_remains", "edit_hide",
        "availability_resale", "resell_min_stars", "last_sale_date", "summary_from_language",
        # not of the message
        "cached_page",
        # told by the kind, the author or the channel
        "video", "round", "voice", "post", "correct", "can_see_list", "reactions_as_tags", "recent_reactions",
        "top_reactors", "replies_pts", "recent_repliers", "max_id", "read_max_id",
    }
)  # fmt: skip
"""Names of fields that are left out on purpose; ``raw_message`` says why."""


def everything(found: Any) -> str:
    """All that is stored of a message, as one text."""
    translated = read(found)
    stored = {**asdict(translated), "content": content_json(translated.content), "person": None}
    assert unpack(pack(translated.raw)) == translated.raw
    assert read_content(json.loads(json.dumps(content_json(translated.content)))) == translated.content
    return json.dumps(stored, default=_text, ensure_ascii=False).replace("+00:00", "Z")


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def marked(value: Any, numbers: Iterator[int], path: str = "") -> dict[str, str]:
    """Give each plain value within an object a form that stands nowhere else; returns these forms by their path."""
    marks: dict[str, str] = {}
    for name in arguments(type(value)):
        held, where = getattr(value, name), f"{path}.{name}"
        if name in LEFT_OUT or held is None or isinstance(held, bool):
            continue
        if isinstance(held, list) and held and isinstance(held[0], TLObject):
            for number, one in enumerate(held):
                marks |= marked(one, numbers, f"{where}.{number}")
        elif isinstance(held, TLObject):
            marks |= marked(held, numbers, where)
        elif (new := _new(held, name, next(numbers))) is not None:
            setattr(value, name, [new] if isinstance(held, list) else new)
            marks[where] = _mark(new)
    return marks


def _new(held: Any, name: str, number: int) -> Any:
    if isinstance(held, list):
        return _new(held[0], name, number) if held else None
    if isinstance(held, str):
        return f"{name} {number}"
    if isinstance(held, datetime):
        return NOON + timedelta(seconds=number)
    if isinstance(held, bytes):
        return None if name in ("option", "poll_option") else number.to_bytes(9)
    return None if name in ("offset", "length") else number


def _mark(new: Any) -> str:
    """How a value stands in JSON."""
    if isinstance(new, bytes):
        return b64encode(new).decode()
    return new.isoformat().replace("+00:00", "Z") if isinstance(new, datetime) else str(new)


class TestMedia:
    @pytest.mark.parametrize("kind", MEDIA, ids=lambda kind: kind.__name__)
    def test_every_value_is_found_again(self, kind: Any) -> None:
        """Each number, word and time of every kind of media stands somewhere in what is stored."""
        found = media(kind)
        if isinstance(found, types.MessageMediaPoll):
            found.results.min = None
        marks = marked(found, itertools.count(70_001, 7))
        stored = everything(message(media=found))
        assert {path: mark for path, mark in marks.items() if mark not in stored} == {}

    @pytest.mark.parametrize("kind", MEDIA, ids=lambda kind: kind.__name__)
    def test_every_kind_is_told_apart(self, kind: Any) -> None:
        """Only what Telegram itself calls unsupported is; a preview belongs to a text."""
        found = read(message(media=media(kind)))
        plain = (types.MessageMediaWebPage, types.MessageMediaEmpty)
        assert (found.kind is MessageKind.UNSUPPORTED) == (kind is types.MessageMediaUnsupported)
        assert (found.kind is MessageKind.TEXT) == (kind in plain)
        assert bool(found.content.unsupported) == (kind is types.MessageMediaUnsupported)

    @pytest.mark.parametrize("kind", MEDIA, ids=lambda kind: kind.__name__)
    def test_every_flag_makes_a_difference(self, kind: Any) -> None:
        """A yes or no that Telegram tells is stored somewhere."""
        flags = [name for name, one in arguments(kind).items() if one.plain is bool and name not in LEFT_OUT]
        for name in flags:
            unset = media(kind)
            setattr(unset, name, None)
            assert everything(message(media=media(kind))) != everything(message(media=unset)), name

    def test_media_nobody_knows_is_kept(self) -> None:
        """It is named, and kept as it came."""

        class MessageMediaHologram(types.MessageMediaContact):
            pass

        found = read(message(media=MessageMediaHologram("1", "Ada", "", "", 7)))
        assert (found.kind, found.content.unsupported) == (MessageKind.UNSUPPORTED, "MessageMediaHologram")
        assert found.raw == {
            "media": {"_": "MessageMediaHologram", "phone_number": "1", "first_name": "Ada", "user_id": 7}
        }
        assert found.text == "hello"


class TestActions:
    @pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.__name__)
    def test_every_value_is_found_again(self, kind: Any) -> None:
        """Each number, word and time of every action stands somewhere in what is stored."""
        found = sample(kind)
        if hasattr(found, "birthday"):
            found.birthday.month, found.birthday.day = 5, 3
            marks = {}
        else:
            marks = marked(found, itertools.count(70_001, 7))
        stored = everything(service(found, from_id=ADA))
        assert {path: mark for path, mark in marks.items() if mark not in stored} == {}


class TestMessage:
    def test_every_field_of_a_message_has_its_place(self) -> None:
        """A field that a later layer adds fails here until somebody decides where it goes."""
        for name, argument in arguments(types.Message).items():
            if name in LEFT_OUT or name in ("id", "peer_id", "date", "message", "from_id", "media", "edit_date"):
                continue
            plain, full = message(), message(**{name: getattr(sample(types.Message), name)})
            assert getattr(full, name) is not None, name
            assert everything(plain) != everything(full), (name, argument)

    @pytest.mark.parametrize(
        "name",
        [
            "fwd_from", "reply_to", "replies", "reply_markup", "factcheck", "suggested_post", "rich_message",
            "guestchat_via_from",
        ],
    )  # fmt: skip
    def test_every_value_of_its_parts_is_found_again(self, name: str) -> None:
        """Headers, buttons and pages are kept down to the last number."""
        part = getattr(sample(types.Message), name)
        marks = marked(part, itertools.count(70_001, 7))
        stored = everything(message(**{name: part}))
        assert {path: mark for path, mark in marks.items() if mark not in stored} == {}

    def test_a_plain_text_has_nothing_but_its_columns(self) -> None:
        """As most messages are."""
        found = read(message(from_id=ADA))
        assert (found.kind, found.raw, found.author, found.text) == (MessageKind.TEXT, {}, "Ada", "hello")
        assert (found.person, found.content, found.counts) == (PEOPLE[UserId(1)], PLAIN, NO_COUNTS)
