"""Discord's objects as it sends them, for tests that need no server."""

from __future__ import annotations

from typing import Any

GUILD, ME = "700", "900"
CHANNEL, THREAD = "800", "850"


def message(number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "channel_id": CHANNEL,
        "author": {"id": "5", "username": "ada", "global_name": "Ada", "bot": False},
        "content": "hello",
        "timestamp": "2026-01-02T03:04:05.678000+00:00",
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "pinned": False,
        "type": 0,
        "flags": 0,
        **more,
    }


def channel(number: str = CHANNEL, *, kind: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "type": kind,
        "name": "general",
        "position": 0,
        "permission_overwrites": [],
        "last_message_id": "41",
        **more,
    }


def thread(number: str = THREAD, *, kind: int = 11, archived: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "type": kind,
        "name": "a thread",
        "guild_id": GUILD,
        "parent_id": CHANNEL,
        "last_message_id": "42",
        "message_count": 3,
        "total_message_sent": 5,
        "thread_metadata": {"archived": archived, "archive_timestamp": "2026-01-02T03:04:05+00:00"},
        **more,
    }


def role(number: str, permissions: int) -> dict[str, Any]:
    return {"id": number, "name": f"role {number}", "permissions": str(permissions), "position": int(number) % 100}


def overwrite(number: str, *, kind: int, allow: int = 0, deny: int = 0) -> dict[str, Any]:
    return {"id": number, "type": kind, "allow": str(allow), "deny": str(deny)}


def guild(number: str = GUILD, **more: Any) -> dict[str, Any]:
    """A guild as GUILD_CREATE tells of it, with me in it and one channel that I may read and post in."""
    return {
        "id": number,
        "name": "The harbour",
        "owner_id": "1",
        "roles": [role(number, 0b1_0000_1100_0000_0000)],  # view, send, read history
        "members": [{"user": {"id": ME, "username": "gate", "bot": True}, "roles": []}],
        "channels": [channel()],
        "threads": [thread()],
        **more,
    }
