"""WhatsApp's refusals in our classes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.account import AccountState
from tidegate.core.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    Halted,
    NotSent,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.platforms.interface import ChannelDeleted, UploadLost
from tidegate.platforms.whatsapp.errors import connect_trouble, read_trouble, send_trouble, stopped_by

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)

SENDS = [
    ("client is nil", NotSent),
    ("websocket not connected", NotSent),
    ("the store doesn't contain a device JID", NotSent),
    ("failed to get group members: info query returned status 429: rate-overlimit", AskedToWait),
    ("server returned error 429", AskedToWait),
    ("server returned error 463", Halted),
    ("server returned error 403", ChannelGone),
    ("server returned error 479", Refused),
    ("failed to get group members: you're not participating in that group", ChannelGone),
    ("failed to get group members: that group does not exist", ChannelDeleted),
    ("timed out waiting for message send response", OutcomeUnknown),
    ("websocket disconnected before message send returned response", OutcomeUnknown),
    ("failed to send message node: failed to write frame", OutcomeUnknown),
    ("context deadline exceeded", OutcomeUnknown),
]


@pytest.mark.parametrize(("said", "meant"), SENDS, ids=[said for said, _ in SENDS])
def test_a_send_that_failed(said: str, meant: type[PlatformError]) -> None:
    """Each sentence of the library that is understood, and some that are not."""
    assert type(send_trouble(said, media=False)) is meant


understood = ("client is nil", "not connected", "device JID", "returned status", "returned error", "group")


@given(st.text().filter(lambda said: not any(words in said for words in understood)))
def test_what_nobody_understands_may_have_arrived(said: str) -> None:
    """D-26: an error string nobody knows is unknown, so that nothing resends it by itself."""
    assert type(send_trouble(said, media=False)) is OutcomeUnknown


@given(st.integers(0, 999), st.booleans())
def test_a_number_of_the_server_is_always_definite(code: int, media: bool) -> None:
    """It answered, so the message did not arrive: never unknown, and only known codes touch the whole account."""
    trouble = send_trouble(f"server returned error {code}", media=media)
    assert not isinstance(trouble, OutcomeUnknown)
    assert isinstance(trouble, Halted) == (code == 463)
    assert isinstance(trouble, AskedToWait) == (code == 429)
    assert isinstance(trouble, UploadLost) == (media and code in (404, 410))


def test_a_question_that_failed() -> None:
    """D-34's 429 waits; what is not understood may be asked again, because asking changes nothing."""
    assert type(read_trouble("info query returned status 429: rate-overlimit", "list")) is AskedToWait
    assert type(read_trouble("info query returned status 403: forbidden", "list")) is Refused
    assert type(read_trouble("info query timed out", "list")) is PlatformError
    assert type(read_trouble("websocket not connected", "list")) is NotSent


def test_what_stops_an_account() -> None:
    """D-36, D-37: a ban has its end, an unlinked account is signed out, and the rest waits for a person, paused."""
    ban = stopped_by({"event": "banned", "why": "SENT_TOO_MANY_SAME_MESSAGE", "seconds": 3600}, NOON)
    assert isinstance(ban, Banned)
    assert (ban.until, ban.leaves) == (NOON + timedelta(hours=1), AccountState.BANNED)
    assert "same message too often" in str(ban)
    out = stopped_by({"event": "logged_out", "reason": "MAIN_DEVICE_GONE"}, NOON)
    assert isinstance(out, SignedOut)
    for kind in ("replaced", "outdated"):
        halted = stopped_by({"event": kind}, NOON)
        assert isinstance(halted, Halted)
        assert halted.leaves is AccountState.PAUSED
    assert stopped_by({"event": "disconnected"}, NOON) is None


def test_a_proxy_is_named_without_its_password() -> None:
    """The library's words may hold the address it was given, and they are stored and shown."""
    said = str(connect_trouble('parse "http://reader:p%40ss@proxy.example:8080": no such proxy'))
    assert said == 'WhatsApp cannot be reached: parse "http://proxy.example:8080": no such proxy.'
