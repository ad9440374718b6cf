"""What is posted in Discord's words, and where listings go on."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.discord.shapes import thread
from tidegate.platforms.discord.send_requests import nonce_of, request_of
from tidegate.platforms.discord.thread_cursor import next_archived
from tidegate.platforms.interface import Cursor, Enclosure, SendKey

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@given(st.text(), st.text())
def test_a_key_makes_one_nonce(one: str, other: str) -> None:
    """claim-before-send: the same for the same, another for another, and as short as Discord takes it."""
    assert len(nonce_of(SendKey(one))) <= 25
    assert (nonce_of(SendKey(one)) == nonce_of(SendKey(other))) == (one == other)


@given(text=st.text(min_size=1), files=st.lists(st.binary(max_size=20), max_size=3))
def test_every_send_enforces_its_nonce_and_calls_nobody(text: str, files: list[bytes]) -> None:
    """With files or without: the nonce is enforced, and no mention rings at anybody."""
    enclosures = [Enclosure(f"{number}.bin", content) for number, content in enumerate(files)]
    request = request_of(text, enclosures, SendKey("k"))
    said = json.loads(request["form"][0]["value"]) if files else request["json"]
    assert said["content"] == text
    assert (said["nonce"], said["enforce_nonce"]) == (nonce_of(SendKey("k")), True)
    assert said["allowed_mentions"]["parse"] == []
    if files:
        assert [part["value"].read() for part in request["form"][1:]] == files


@given(st.lists(st.integers(0, 20), min_size=1, max_size=40), st.integers(2, 10))
def test_archived_threads_are_all_listed(instants: list[int], limit: int) -> None:
    """However many share an instant: every thread is listed, unless more than a page share one; and it ends."""
    if max(instants.count(one) for one in instants) >= limit:
        return
    held = sorted(((NOON + timedelta(seconds=one), number) for number, one in enumerate(instants)), reverse=True)
    found: set[int] = set()
    after: Cursor | None = None
    for _ in range(100):
        below = [one for one in held if after is None or one[0] < datetime.fromisoformat(after)]
        found |= {number for _, number in below[:limit]}
        rows = [thread(str(number), archived=True) for _, number in below[:limit]]
        for row, (at, _) in zip(rows, below, strict=False):
            row["thread_metadata"]["archive_timestamp"] = at.isoformat()
        after = next_archived({"threads": rows, "has_more": len(below) > limit}, after)
        if after is None:
            break
    assert after is None
    assert found == set(range(len(instants)))
