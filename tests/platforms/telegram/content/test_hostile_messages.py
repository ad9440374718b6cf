"""Messages that break their schema, or that somebody wrote to break a reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from telethon.tl import TLObject, types

from tests.platforms.telegram.content.posted import ADA, NOON, WHERE, message, read, service
from tests.platforms.telegram.sample_objects import ACTIONS, MEDIA, sample
from tidegate.core.message_content import MessageKind
from tidegate.history.content_json import content_json, counts_json
from tidegate.history.raw_json import pack
from tidegate.loopback.telegram.tl_objects.tl_schema import arguments, inside

NONSENSE: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(),
    str: st.text(max_size=5),
    bytes: st.binary(max_size=5),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)),
}


def storable(found: Any) -> Any:
    """A message that was read, after all of it was turned into what is stored."""
    translated = read(found)
    json.dumps(content_json(translated.content), allow_nan=False)
    json.dumps(counts_json(translated.counts), allow_nan=False)
    pack(translated.raw)
    return translated


@pytest.mark.parametrize("kind", [*MEDIA, *ACTIONS], ids=lambda kind: kind.__name__)
def test_a_missing_value_stops_nothing(kind: Any) -> None:
    """Each value that the schema requires may be missing: the message keeps its text, and is marked if unreadable."""
    for index, one in enumerate(inside(sample(kind))):
        for name in arguments(type(one)):
            broken = sample(kind)
            setattr([*inside(broken)][index], name, None)
            found = storable(message(media=broken) if kind in MEDIA else service(broken, from_id=ADA))
            if found.kind is MessageKind.UNSUPPORTED:
                assert found.content.unsupported == kind.__name__
                assert found.raw
            assert found.at == NOON


def test_what_cannot_be_read_is_kept_as_it_came() -> None:
    """Named, with its text, its author and all that Telegram sent."""
    found = storable(message(media=types.MessageMediaToDo(types.TodoList(None, None)), from_id=ADA))
    assert (found.kind, found.content.unsupported) == (MessageKind.UNSUPPORTED, "MessageMediaToDo")
    assert (found.text, found.author) == ("hello", "Ada")
    assert found.raw == {"media": {"_": "MessageMediaToDo", "todo": {"_": "TodoList"}}}


@pytest.mark.parametrize("number", [0, 12])
def test_of_an_unreadable_post_with_comments_the_group_is_kept(number: int) -> None:
    """As of one that is read: without what a further comment changes."""
    replies = types.MessageReplies(number, 1, comments=True, channel_id=7, read_max_id=number)
    found = storable(message(media=types.MessageMediaToDo(types.TodoList(None, None)), replies=replies))
    assert found.raw["replies"] == {"_": "MessageReplies", "comments": True, "channel_id": 7}
    plain = storable(
        message(media=types.MessageMediaToDo(types.TodoList(None, None)), replies=types.MessageReplies(number, 1))
    )
    assert "replies" not in plain.raw


@pytest.mark.parametrize(
    "name", ["fwd_from", "reply_to", "reactions", "replies", "reply_markup", "rich_message", "factcheck"]
)
def test_a_broken_part_stops_nothing(name: str) -> None:
    """A message with a header without values is stored with its text."""
    kind = type(getattr(sample(types.Message), name))
    for argument in arguments(kind):
        broken = sample(kind)
        setattr(broken, argument, None)
        assert storable(message(**{name: broken})).text == "hello"


def test_a_message_without_a_date_is_stored() -> None:
    """Telegram writes an absent date as none; the epoch stands for it."""
    assert storable(types.Message(5, WHERE, None, "hello")).at.year == 1970


@settings(max_examples=200)
@given(data=st.data())
def test_nonsense_in_any_place_stops_nothing(data: st.DataObject) -> None:
    """Whatever value of its type stands in a field of whatever object, or none at all, the message is read."""
    kind = data.draw(st.sampled_from([*MEDIA, *ACTIONS]))
    broken = sample(kind)
    objects = [one for one in inside(broken) if arguments(type(one))]
    if not objects:
        return
    one: TLObject = data.draw(st.sampled_from(objects))
    argument = data.draw(st.sampled_from(list(arguments(type(one)).values())))
    nonsense = st.none() if argument.plain is None else st.none() | NONSENSE[argument.plain]
    setattr(one, argument.name, data.draw(st.lists(nonsense, max_size=3) if argument.many else nonsense))
    storable(message(media=broken) if kind in MEDIA else service(broken))


@given(words=st.text(st.characters(), max_size=50))
def test_every_text_is_passed_on_as_it_is(words: str) -> None:
    """Markup, scripts and direction marks are texts; whoever shows them escapes them."""
    hostile = f"<script>{words}\u202e"
    found = storable(
        message(
            message=hostile,
            fwd_from=types.MessageFwdHeader(NOON, from_name=hostile),
            media=types.MessageMediaContact(hostile, hostile, "", "", 1),
        )
    )
    assert found.content.forward is not None
    assert found.content.details is not None
    assert {found.text, found.content.forward.name, found.content.details["phone"]} == {hostile}


def test_a_position_that_is_no_number_is_stored() -> None:
    """JSON knows neither infinity nor what is no number."""
    place = types.MessageMediaGeo(types.GeoPoint(float("nan"), float("inf"), 1))
    assert storable(message(media=place)).content.details == {"latitude": "inf", "longitude": "nan"}
