"""WhatsApp's words in ours: groups as channels, receipts as arrivals. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tidegate.platforms.whatsapp.numbers import number_of
from tidegate.port import Channel, ChannelId, Head, Me, Receipt
from tidegate.port.media import Arrived


def heads_of(groups: Sequence[Mapping[str, Any]], me: str) -> dict[ChannelId, Head]:
    """Groups the account is in. The parent of a community is none: nobody writes there."""
    heads = {}
    for group in groups:
        if group["community"]:
            continue
        number = number_of(group["id"])
        may_post = not group["announce"] or _administers(group["members"], me)
        channel = Channel(number, group["name"] or group["id"], may_post=may_post, readable=False)
        heads[number] = Head(None, None, channel)
    return heads


def addresses_of(groups: Sequence[Mapping[str, Any]]) -> dict[ChannelId, str]:
    """Where to send what is meant for a channel."""
    return {number_of(group["id"]): group["id"] for group in groups}


def _administers(members: Sequence[Sequence[Any]], me: str) -> bool:
    """Whether *me* is an admin; a member is named by its number, or by both an alias and its number."""
    return any(admin and me in (name, phone) for name, phone, admin in members)


def me_of(device: str) -> Me:
    """Whose phone a linked device belongs to, by the device's address."""
    number = device.partition(":")[0]
    return Me(int(number), f"+{number}")


def receipt_of(answer: Mapping[str, Any]) -> Receipt:
    return Receipt(None, datetime.fromtimestamp(answer["at"], UTC), name=answer["id"])


def arrived_of(event: Mapping[str, Any]) -> Arrived:
    """It came within the second that WhatsApp names, so the end of that one is when it had come for sure."""
    at = datetime.fromtimestamp(event["at"] + 1, UTC)
    return Arrived(number_of(event["chat"]), event["message"], at)
