"""Which photo belongs to a set, and what counts as a picture."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.archives.rules.preview_choice import (
    AFTER_FOR,
    BEFORE_FOR,
    MESSAGES_AFTER,
    MESSAGES_BEFORE,
    NEAR,
    PreviewPhoto,
    PreviewSubject,
    choose_photo,
    decisive,
    is_past_window,
    picture_type,
    stretches,
)
from tidegate.core.ids import Span

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SET = PreviewSubject(archive=1, message=100, at=NOON, sender="Ada", topic=7)


def photo(message: int, minutes: float = 0, **otherwise: object) -> PreviewPhoto:
    made = PreviewPhoto(message, NOON + minutes * MINUTE, "Ada", 7)
    return replace(made, **otherwise)


def test_the_nearest_photo_before_a_set_is_its_own() -> None:
    """Somebody shows a thing and then posts its files; what was shown for the set before is further away."""
    assert choose_photo(SET, [photo(90, -9), photo(97, -3), photo(101, 1)]) == photo(97, -3)


def test_a_photo_right_after_serves_where_none_was_before() -> None:
    """Some post the files first."""
    assert choose_photo(SET, [photo(104, 2), photo(102, 1)]) == photo(102, 1)


def test_an_album_is_the_strongest_bond() -> None:
    """What was posted as one album belongs together, whatever other photos are nearer."""
    own = photo(109, 4, album=5, sender="", topic=1)
    assert choose_photo(replace(SET, albums=frozenset({5})), [photo(99, -1), photo(98, album=6), own]) == own


@pytest.mark.parametrize(
    "other",
    [
        photo(99, -1, sender="Bob"),
        photo(99, -1, topic=8),
        photo(100 - MESSAGES_BEFORE - 1, -1),
        photo(99, -BEFORE_FOR / MINUTE - 0.1),
        photo(101 + MESSAGES_AFTER, 1),
        photo(101, AFTER_FOR / MINUTE + 0.1),
        photo(99, 1),
    ],
    ids=["another's", "elsewhere", "long before", "hours before", "long after", "late", "of a clock that went back"],
)
def test_a_stranger_is_no_preview(other: PreviewPhoto) -> None:
    """Without an album: the same person, the same topic, close in number and in time."""
    assert choose_photo(SET, [other]) is None


photos = st.builds(
    PreviewPhoto,
    message=st.integers(50, 150),
    at=st.integers(-60, 60).map(lambda minutes: NOON + minutes * MINUTE),
    sender=st.sampled_from(["Ada", "Bob"]),
    topic=st.sampled_from([1, 7]),
    album=st.sampled_from([None, 5, 6]),
)


@given(st.lists(photos, max_size=8), st.sampled_from([frozenset(), frozenset({5})]))
def test_a_choice_is_one_of_the_photos_and_has_a_bond(seen: list[PreviewPhoto], albums: frozenset[int]) -> None:
    """It is in the album, or the same person's in the same topic; and the order of the photos does not matter."""
    subject = replace(SET, albums=albums)
    found = choose_photo(subject, seen)
    if found is not None:
        assert found in seen
        assert found.album in albums or (found.sender, found.topic) == (subject.sender, subject.topic)
        assert found.album in albums or subject.reach.low <= found.message <= subject.reach.high
    again = choose_photo(subject, reversed(seen))
    assert (again and again.message) == (found and found.message)


@given(st.lists(photos, max_size=8), st.lists(photos, max_size=8))
def test_photos_outside_the_decisive_stretch_change_no_choice(
    seen: list[PreviewPhoto], others: list[PreviewPhoto]
) -> None:
    """So once that stretch is known there is nothing to search for; an album's messages lie next to each other."""
    seen = [replace(photo, album=None) for photo in seen]
    chosen = choose_photo(SET, seen)
    low, high = decisive(SET, chosen, newest=150)
    outside = [replace(photo, album=None) for photo in others if not low <= photo.message <= high]
    outside = [photo for photo in outside if chosen is None or photo.message != chosen.message]
    again = choose_photo(SET, [*seen, *outside])
    assert (again and again.message) == (chosen and chosen.message)


@given(st.lists(st.integers(1, 5_000), max_size=20))
def test_stretches_cover_every_reach_and_lie_apart(messages: list[int]) -> None:
    """Nothing near a set is left out, and two stretches that one search would do for are one."""
    subjects = [replace(SET, message=number) for number in messages]
    found = stretches(subjects)
    for one in subjects:
        assert any(low <= one.reach.low and one.reach.high <= high for low, high in found)
    assert all(right.low - left.high > NEAR for left, right in pairwise(found))


def test_the_first_message_has_nothing_before_it() -> None:
    """Messages count from 1."""
    assert replace(SET, message=3).reach == Span(1, 3 + MESSAGES_AFTER)


def test_a_set_is_settled_when_a_photo_would_come_too_late() -> None:
    """Until then the answer "there is none" is not final."""
    assert not is_past_window(SET, NOON + AFTER_FOR)
    assert is_past_window(SET, NOON + AFTER_FOR + MINUTE)


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", None),
        (b"RIFX\x10\x00\x00\x00WEBPVP8 ", None),
        (b"<svg onload=alert(1)>", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(content: bytes, mime: str | None) -> None:
    """What a stranger calls a picture is served to operators only when it is one."""
    assert picture_type(content) == mime


@given(st.binary(max_size=40))
def test_no_other_bytes_are_a_picture(content: bytes) -> None:
    """A type is only ever given to one of three beginnings."""
    beginnings = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n", "image/webp": b"RIFF"}
    mime = picture_type(content)
    assert mime is None or content.startswith(beginnings[mime])
