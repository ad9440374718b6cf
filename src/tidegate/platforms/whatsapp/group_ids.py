"""WhatsApp's group addresses as ids, and back. Pure."""

from __future__ import annotations

from tidegate.core.ids import ChannelId
from tidegate.platforms.interface.group_numbers import FIRST_OF_OUR_OWN, group_number

GROUPS, PEOPLE = "g.us", "s.whatsapp.net"


def number_of(address: str) -> ChannelId:
    """The number of a group, by its address."""
    return group_number(address)


def address_of(number: ChannelId) -> str | None:
    """The address of a group with a number of its own; None for one we numbered, whose address has to be stored."""
    return f"{number}@{GROUPS}" if 0 < number < FIRST_OF_OUR_OWN else None
