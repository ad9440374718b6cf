"""The lane's verbs for files of our own, and what it says of repeated sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.lanes.conftest import Town
from tests.lanes.media_platform import MediaPlatform
from tests.small_platform import SmallPlatform
from tidegate.core.account import Account
from tidegate.core.errors import Refused
from tidegate.core.ids import ChannelId, UploadId
from tidegate.lanes import Lane
from tidegate.platforms.interface import SendKey, Upload
from tidegate.platforms.interface.uploads import Arrived, Media, MediaKind, MediaRef

GROUP = ChannelId(1)
POSTER = Media(b"\x01" * 32, "poster.jpg", "image/jpeg", 3, MediaKind.PICTURE)

VERBS: dict[str, Callable[[Lane], Awaitable[object]]] = {
    "upload": lambda lane: lane.upload(POSTER, b"abc"),
    "register": lambda lane: lane.register(Upload(UploadId(1), "poster.jpg", 3), POSTER),
    "post": lambda lane: lane.post(GROUP, POSTER, MediaRef(b"r"), caption="hi", key=SendKey("k"), run=7),
}


@pytest.fixture
def platform(town: Town) -> MediaPlatform:
    return MediaPlatform(town.clock)


@pytest.mark.parametrize("verb", VERBS)
async def test_each_is_one_call_on_the_ledger(town: Town, lane: Lane, platform: MediaPlatform, verb: str) -> None:
    """What the platform counts is on the ledger; only what people see charges the pace (never-above-the-pace).

    Invariant: calls-through-a-lane.
    """
    await town.after(2, VERBS[verb](lane))
    assert platform.count(verb) == 1
    await town.call_log.flush()
    rows = await town.database.pool.fetch("SELECT method, outcome, charged, run FROM calls")
    assert [tuple(row) for row in rows] == [(verb, "ok", verb == "post", 7 if verb == "post" else None)]


@pytest.mark.parametrize("verb", VERBS)
async def test_a_platform_without_media_says_so(town: Town, account: Account, verb: str) -> None:
    """bad-input-gets-a-sentence: a sentence, and no call."""
    small = SmallPlatform(town.clock)
    lane = await town.lane(account, small)
    with pytest.raises(Refused, match="cannot"):
        await VERBS[verb](lane)
    with pytest.raises(Refused, match="cannot"):
        await lane.next_arrival()
    assert not small.received


async def test_the_lane_tells_what_a_repeated_send_means(town: Town, lane: Lane, account: Account) -> None:
    """claim-before-send: whether a send in doubt may be repeated is the platform's property, asked of the lane."""
    assert lane.removes_duplicates
    assert lane.takes_upload_parts
    assert not lane.encloses
    assert (lane.recognises_for, lane.media_lasts) == (timedelta(minutes=2), timedelta(days=7))
    plain = await town.lane(account, SmallPlatform(town.clock))
    assert not plain.removes_duplicates
    assert not plain.takes_upload_parts
    assert not plain.encloses
    assert (plain.recognises_for, plain.media_lasts) == (None, None)


async def test_a_late_word_is_passed_on_and_is_no_call(town: Town, lane: Lane, platform: MediaPlatform) -> None:
    """What has arrived is the platform's own word, so nothing is counted for it."""
    word = Arrived(GROUP, "3EB0", datetime(2026, 11, 15, tzinfo=UTC))
    platform.words.append(word)
    assert await lane.next_arrival() == word
    assert not platform.received
