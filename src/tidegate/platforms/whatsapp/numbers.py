"""Groups by number, and back. Pure."""

from __future__ import annotations

from tidegate.port import ChannelId
from tidegate.rules.numbering import FIRST_OF_OUR_OWN, group_number

GROUPS = "g.us"


def number_of(address: str) -> ChannelId:
    """The number of a group, by its address."""
    return ChannelId(group_number(address))


def address_of(number: ChannelId) -> str | None:
    """The address of a group with a number of its own; None for one we numbered, whose address has to be known."""
    return f"{number}@{GROUPS}" if 0 < number < FIRST_OF_OUR_OWN else None
