"""What the gateway tells of messages, as hints."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.platforms.discord.shapes import CHANNEL, message
from tidegate.platforms.discord.events import hint_of, tells_of_messages
from tidegate.port import ChannelId, MessageId, News, Patch, Reacted

EDITED = "2026-02-03T04:05:06+00:00"


def news(event: str, **data: object) -> News:
    assert tells_of_messages(event)
    hint = hint_of(event, {"channel_id": CHANNEL, **data})
    assert hint.channel == ChannelId(800)
    assert hint.news is not None
    return hint.news


def test_a_message_is_posted() -> None:
    """The message itself comes with the hint."""
    assert [one.id for one in news("MESSAGE_CREATE", **message(5)).posted] == [MessageId(5)]


def test_a_real_edit_brings_its_message() -> None:
    """H-33, H-37: however old, and even if nobody ever stored it."""
    told = news("MESSAGE_UPDATE", **message(5, content="new", edited_timestamp=EDITED))
    assert [(one.text, one.edited_at) for one in told.edited] == [("new", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC))]
    assert not told.patched


def test_a_preview_is_no_edit() -> None:
    """H-35: without an instant of its own an update changes the embeds and nothing else."""
    told = news("MESSAGE_UPDATE", id="5", embeds=[{"title": "Tides"}])
    assert told.patched == [Patch(MessageId(5), extra='{"embeds":[{"title":"Tides"}]}')]
    assert not told.edited


def test_a_preview_with_its_whole_message_changes_no_text() -> None:
    """H-35: the whole message comes along for whoever never stored it."""
    (patch,) = news("MESSAGE_UPDATE", **message(5, embeds=[{"title": "Tides"}])).patched
    assert (patch.edited_at, patch.text, patch.files) == (None, None, None)
    assert patch.whole is not None
    assert patch.whole.text == "hello"
    assert json.loads(patch.extra or "")["embeds"] == [{"title": "Tides"}]


def test_a_part_of_an_edit_says_what_it_changes() -> None:
    """A partial edit names its instant, so that an older one can be told (H-34); what it leaves out stays."""
    (patch,) = news("MESSAGE_UPDATE", id="5", content="new", embeds=[], edited_timestamp=EDITED).patched
    assert patch.text == "new"
    assert patch.edited_at == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert (patch.files, patch.reactions, patch.whole) == (None, None, None)
    assert patch.extra == '{"embeds":null}'


def test_deletions_one_or_many() -> None:
    """H-32: a bulk deletion is one piece of news."""
    assert news("MESSAGE_DELETE", id="5").deleted == [MessageId(5)]
    assert news("MESSAGE_DELETE_BULK", ids=[str(one) for one in range(100)]).deleted == list(range(100))


@pytest.mark.parametrize(
    ("event", "more", "told"),
    [
        ("ADD", {"emoji": {"id": None, "name": "👍"}}, Reacted(MessageId(5), "👍", 1)),
        ("REMOVE", {"emoji": {"id": None, "name": "👍"}}, Reacted(MessageId(5), "👍", -1)),
        ("REMOVE_EMOJI", {"emoji": {"id": "8", "name": "w"}}, Reacted(MessageId(5), "w:8", 0)),
        ("REMOVE_ALL", {}, Reacted(MessageId(5), None, 0)),
    ],
)
def test_reactions(event: str, more: dict[str, object], told: Reacted) -> None:
    """Added, taken back, one sign cleared, all cleared."""
    assert news(f"MESSAGE_REACTION_{event}", message_id="5", **more).reacted == [told]


def test_what_is_not_about_messages() -> None:
    """Typing and presence are none of our business."""
    assert not tells_of_messages("TYPING_START")
