"""Requests that post a message, and the receipt in Discord's answer. Pure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from discord import AllowedMentions, File
from discord.http import handle_message_parameters

from tidegate.core.ids import MessageId
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.translation import instant
from tidegate.platforms.interface import Enclosure, Receipt, SendKey

_NOBODY = AllowedMentions.none()


def nonce_of(key: SendKey) -> str:
    """The nonce by which Discord recognises a repeated send: derived from our key, cut to its 25 characters."""
    return sha256(key.encode()).hexdigest()[:25]


def request_of(text: str, enclosures: Sequence[Enclosure], key: SendKey) -> dict[str, Any]:
    """The body of a send: JSON, or a form with files. An @ in a text notifies no one."""
    files = [File(io.BytesIO(one.content), filename=one.name) for one in enclosures]
    parameters = handle_message_parameters(text or None, nonce=nonce_of(key), files=files, allowed_mentions=_NOBODY)
    if not files:
        return {"json": parameters.payload}
    return {"form": parameters.multipart, "upload": sum(len(one.content) for one in enclosures)}


def receipt_of(answer: Json) -> Receipt:
    return Receipt(MessageId(int(answer["id"])), instant(answer["timestamp"]))
