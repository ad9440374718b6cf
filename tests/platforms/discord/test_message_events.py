"""What the gateway tells of messages, as hints."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.platforms.discord.shapes import CHANNEL, message
from tidegate.core.ids import MessageId
from tidegate.core.message_content import MessageCounts
from tidegate.platforms.discord.gateway.message_events import MESSAGE_EVENTS
from tidegate.platforms.discord.messages.content import content_of
from tidegate.platforms.discord.messages.raw_fields import no_names
from tidegate.platforms.interface import ChannelUpdates, FileRole, Patch, Reacted, Recounted, Voted

EDITED = "2026-02-03T04:05:06+00:00"


def news(event: str, **data: object) -> ChannelUpdates:
    return MESSAGE_EVENTS[event]({"channel_id": CHANNEL, **data}, no_names)


def test_a_message_is_posted() -> None:
    """The message itself comes with the hint."""
    assert [one.id for one in news("MESSAGE_CREATE", **message(5)).posted] == [MessageId(5)]


def test_a_real_edit_brings_its_message() -> None:
    """H-33, H-37: however old, and even if nobody ever stored it."""
    told = news("MESSAGE_UPDATE", **message(5, content="new", edited_timestamp=EDITED, reactions=[]))
    assert [(one.text, one.edited_at) for one in told.edited] == [("new", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC))]
    assert not told.patched


def test_an_edit_that_says_nothing_of_reactions_takes_none_away() -> None:
    """Events of reactions tell when they go; who never stored the message takes the whole of it."""
    told = news("MESSAGE_UPDATE", **message(5, content="new", edited_timestamp=EDITED))
    [patch] = told.patched
    assert not told.edited
    assert (patch.reactions, patch.text) == (None, "new")
    assert patch.whole is not None
    assert (patch.whole.text, patch.whole.edited_at) == ("new", patch.edited_at)


def test_a_preview_is_no_edit() -> None:
    """H-35: without an instant of its own an update changes the embeds and nothing else."""
    told = news("MESSAGE_UPDATE", id="5", embeds=[{"title": "Tides"}])
    further = {FileRole.EMBED: ()}
    raw = {"embeds": [{"title": "Tides"}]}
    assert told.patched == [Patch(MessageId(5), further_files=further, raw=raw, read=content_of)]
    assert not told.edited


def test_a_preview_with_its_whole_message_changes_no_text() -> None:
    """H-35: the whole message comes along for whoever never stored it."""
    (patch,) = news("MESSAGE_UPDATE", **message(5, embeds=[{"title": "Tides"}])).patched
    assert (patch.edited_at, patch.text, patch.files) == (None, None, None)
    assert patch.whole is not None
    assert patch.whole.text == "hello"
    assert (patch.raw or {})["embeds"] == [{"title": "Tides"}]


def test_a_part_of_an_edit_says_what_it_changes() -> None:
    """A partial edit names its instant, so that an older one can be told (H-34); what it leaves out stays."""
    (patch,) = news("MESSAGE_UPDATE", id="5", content="new", embeds=[], edited_timestamp=EDITED).patched
    assert patch.text == "new"
    assert patch.edited_at == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert (patch.files, patch.reactions, patch.whole) == (None, None, None)
    assert patch.raw == {"embeds": None, "edited_timestamp": EDITED, "names": None}


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


@pytest.mark.parametrize(("event", "change"), [("ADD", 1), ("REMOVE", -1)])
def test_votes(event: str, change: int) -> None:
    """Given and taken back; the answer is named as the poll names it."""
    told = news(f"MESSAGE_POLL_VOTE_{event}", message_id="5", answer_id=2, user_id="6")
    assert told.voted == [Voted(MessageId(5), "2", change)]


def test_a_poll_that_closes_brings_its_results() -> None:
    """Without an edit: the poll is closed now, and the numbers are final."""
    poll = {
        "question": {"text": "When?"},
        "answers": [{"answer_id": 1, "poll_media": {"text": "Noon"}}],
        "results": {"is_finalized": True, "answer_counts": [{"id": 1, "count": 3}]},
    }
    told = news("MESSAGE_UPDATE", **message(5, poll=poll))
    assert told.recounted == [Recounted(MessageId(5), counts=MessageCounts(votes={"1": 3}))]
    (patch,) = told.patched
    assert patch.read is not None
    closed = patch.read(patch.raw or {})[1].poll
    assert closed is not None
    assert closed.closed


@pytest.mark.parametrize("pinned", [True, False])
def test_a_pin_is_a_mark_and_no_edit(pinned: bool) -> None:
    """Discord sends the pinned message again; the event about the channel's pins names none and is ignored."""
    told = news("MESSAGE_UPDATE", **message(5, pinned=pinned))
    (patch,) = told.patched
    assert patch.edited_at is None
    assert (patch.raw or {})["pinned"] is (True if pinned else None)
    assert "CHANNEL_PINS_UPDATE" not in MESSAGE_EVENTS


def test_what_is_not_about_messages() -> None:
    """Typing and presence are none of our business."""
    assert "TYPING_START" not in MESSAGE_EVENTS
