"""What is posted, in Discord's words, and its answer in ours. Pure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from discord import AllowedMentions, File
from discord.http import handle_message_parameters

from tidegate.platforms.discord.rights import Json
from tidegate.platforms.discord.translate import instant
from tidegate.port import Enclosure, MessageId, Receipt, SendKey

_NOBODY = AllowedMentions.none()


def nonce_of(key: SendKey) -> str:
    """What Discord recognises a repeated send by, made of our key: the same for the same, in the 25 signs it takes."""
    return sha256(key.encode()).hexdigest()[:25]


def request_of(text: str, enclosures: Sequence[Enclosure], key: SendKey) -> dict[str, Any]:
    """The body of a send: JSON, or a form when files come along. Nobody is called by an @ in a text."""
    files = [File(io.BytesIO(one.content), filename=one.name) for one in enclosures]
    parameters = handle_message_parameters(text or None, nonce=nonce_of(key), files=files, allowed_mentions=_NOBODY)
    if not files:
        return {"json": parameters.payload}
    return {"form": parameters.multipart, "upload": sum(len(one.content) for one in enclosures)}


def receipt_of(answer: Json) -> Receipt:
    return Receipt(MessageId(int(answer["id"])), instant(answer["timestamp"]))
