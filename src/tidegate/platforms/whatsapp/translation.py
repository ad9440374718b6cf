"""WhatsApp's groups as channels, and its receipts as arrivals. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tidegate.core.ids import ChannelId, UserId
from tidegate.platforms.interface import Channel, Head, Me, Receipt
from tidegate.platforms.interface.uploads import Arrived
from tidegate.platforms.whatsapp.group_ids import number_of


def heads_of(groups: Sequence[Mapping[str, Any]], me: str) -> dict[ChannelId, Head]:
    """The groups the account is in, without parents of communities, which have no messages."""
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
    """The address to send to for each channel."""
    return {number_of(group["id"]): group["id"] for group in groups}


def _administers(members: Sequence[Sequence[Any]], me: str) -> bool:
    """Whether *me* is an admin; a member is named by its number, or by both an alias and its number."""
    return any(admin and me in (name, phone) for name, phone, admin in members)


def me_of(device: str) -> Me:
    """The owner of a linked device, by the device's address."""
    number = device.partition(":")[0]
    return Me(UserId(int(number)), f"+{number}")


def receipt_of(answer: Mapping[str, Any]) -> Receipt:
    return Receipt(None, datetime.fromtimestamp(answer["at"], UTC), name=answer["id"])


def arrived_of(event: Mapping[str, Any]) -> Arrived:
    """WhatsApp names the second of the arrival; the end of that second is when it had certainly arrived."""
    at = datetime.fromtimestamp(event["at"] + 1, UTC)
    return Arrived(number_of(event["chat"]), event["message"], at)
