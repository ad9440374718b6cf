"""Telegram's errors say what to do once they are translated."""

from __future__ import annotations

import struct
from datetime import timedelta

import pytest
from python_socks import ProxyError
from telethon import errors

from tidegate.core.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    Halted,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.platforms.interface import HandleExpired, MayNotPost, SourceProtected, UploadLost
from tidegate.platforms.telegram.errors import AlreadySent, HeldElsewhere, MediaGone, connect_trouble, trouble

METHOD = "messages.search"


def said(code: int, name: str) -> errors.RPCError:
    """An error as Telethon makes it of what comes over the wire."""
    from telethon.tl.types import RpcError

    return errors.rpc_message_to_error(RpcError(code, name), request=None)


@pytest.mark.parametrize(
    ("name", "seconds", "scope"),
    [
        ("FLOOD_WAIT_300", 300, Scope(ScopeKind.METHOD, METHOD)),
        ("FLOOD_WAIT_0", 1, Scope(ScopeKind.METHOD, METHOD)),
        ("FLOOD_PREMIUM_WAIT_5", 5, Scope(ScopeKind.METHOD, METHOD)),
        ("TAKEOUT_INIT_DELAY_60", 60, Scope(ScopeKind.METHOD, METHOD)),
        ("SLOWMODE_WAIT_30", 30, Scope(ScopeKind.CHAT)),
        ("FLOOD_OF_A_NEW_KIND", 3600, Scope(ScopeKind.METHOD, METHOD)),
    ],
)
def test_s44_a_flood_names_its_pause_and_what_waits(name: str, seconds: int, scope: Scope) -> None:
    """S-42, S-44: a flood wait stops its method and slow mode its chat, never the account; no wait is zero."""
    asked = trouble(said(420, name), METHOD)
    assert isinstance(asked, AskedToWait)
    assert (asked.pause, asked.scope) == (timedelta(seconds=seconds), scope)


@pytest.mark.parametrize(
    ("code", "name", "kind"),
    [
        (400, "PEER_FLOOD", AskedToWait),
        (401, "AUTH_KEY_UNREGISTERED", SignedOut),
        (401, "SESSION_REVOKED", SignedOut),
        (401, "A_NEW_KIND_OF_401", SignedOut),
        (401, "USER_DEACTIVATED", SignedOut),
        (406, "AUTH_KEY_DUPLICATED", SignedOut),
        (401, "USER_DEACTIVATED_BAN", Banned),
        (400, "PHONE_NUMBER_BANNED", Banned),
        (420, "FROZEN_METHOD_INVALID", Halted),
        (400, "FROZEN_PARTICIPANT_MISSING", Halted),
        (400, "FROZEN_IN_A_NEW_WAY", Halted),
        (403, "USER_RESTRICTED", Halted),
        (406, "USER_RESTRICTED", Halted),
        (400, "CHANNEL_BANNED", ChannelGone),
        (400, "CHANNEL_PRIVATE", ChannelGone),
        (400, "CHANNEL_INVALID", ChannelGone),
        (400, "PEER_ID_INVALID", ChannelGone),
        (400, "FILE_REFERENCE_EXPIRED", HandleExpired),
        (400, "FILE_REFERENCE_0_EXPIRED", HandleExpired),
        (400, "FILE_PART_7_MISSING", UploadLost),
        (400, "MEDIA_EMPTY", MediaGone),
        (400, "FILE_ID_INVALID", MediaGone),
        (500, "RANDOM_ID_DUPLICATE", AlreadySent),
        (303, "FILE_MIGRATE_4", HeldElsewhere),
        (400, "CHAT_FORWARDS_RESTRICTED", SourceProtected),
        (403, "CHAT_WRITE_FORBIDDEN", MayNotPost),
        (400, "CHAT_ADMIN_REQUIRED", MayNotPost),
        (400, "USER_BANNED_IN_CHANNEL", MayNotPost),
        (403, "CHAT_SEND_DOCS_FORBIDDEN", MayNotPost),
        (400, "TOPIC_CLOSED", MayNotPost),
        (400, "INPUT_METHOD_INVALID", Refused),
        (500, "PERSISTENT_TIMESTAMP_OUTDATED", PlatformError),
        (500, "RPC_CALL_FAIL", PlatformError),
        (-503, "Timeout", PlatformError),
        (-500, "No workers running", PlatformError),
    ],
)
def test_an_error_becomes_the_class_that_says_what_to_do(code: int, name: str, kind: type) -> None:
    """error-class-says-what-to-do: and it names Telegram's own word, so that an operator can look it up."""
    found = trouble(said(code, name), METHOD)
    assert type(found) is kind
    if kind in (SignedOut, Banned, ChannelGone, PlatformError) and name == name.upper():
        assert name in str(found)


def test_s45_only_a_lost_sign_in_is_a_loss() -> None:
    """S-45: an unknown key is one; a broken connection or a busy front door is not."""
    assert isinstance(trouble(errors.AuthKeyNotFound(), METHOD), SignedOut)
    assert isinstance(trouble(errors.InvalidBufferError(struct.pack("<i", -404)), METHOD), SignedOut)
    assert isinstance(trouble(errors.InvalidBufferError(struct.pack("<i", -429)), METHOD), AskedToWait)
    assert isinstance(trouble(errors.InvalidBufferError(b"strange"), METHOD), OutcomeUnknown)
    assert isinstance(trouble(ConnectionResetError("gone"), METHOD), OutcomeUnknown)


def test_what_a_proxy_said_is_not_repeated() -> None:
    """A proxy may answer with the request it got, and the password in it."""
    found = connect_trouble(ProxyError("407 Basic cmVhZGVyOmh1bnRlcjI="), "149.154.167.51:443")
    assert type(found) is PlatformError
    assert "proxy refused" in str(found)
    assert "cmVhZGVyOmh1bnRlcjI=" not in str(found)


def test_where_a_file_is_kept_is_told() -> None:
    """A file of another data centre is asked for there, not given up."""
    found = trouble(said(303, "FILE_MIGRATE_4"), "upload.getFile")
    assert isinstance(found, HeldElsewhere)
    assert found.centre == 4
