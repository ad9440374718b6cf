"""Groups by number. WhatsApp names them by addresses: those of new groups are numbers, of old ones not. Pure."""

from __future__ import annotations

from hashlib import sha256

from tidegate.port import ChannelId

GROUPS = "g.us"
_FIRST_OF_OUR_OWN = 1 << 62
"""WhatsApp's numbers are below it. Above it are those we make of addresses like 6281200000001-1500000000."""


def number_of(address: str) -> ChannelId:
    """The number of a group: its own where it has one, else one that is always the same for the same address."""
    name = address.partition("@")[0]
    if name.isascii() and name.isdigit() and not name.startswith("0") and int(name) < _FIRST_OF_OUR_OWN:
        return ChannelId(int(name))
    made = int.from_bytes(sha256(name.encode()).digest()[:8], "big") % _FIRST_OF_OUR_OWN
    return ChannelId(_FIRST_OF_OUR_OWN + made)


def address_of(number: ChannelId) -> str | None:
    """The address of a group with a number of its own; None for one we numbered, whose address has to be known."""
    return f"{number}@{GROUPS}" if 0 < number < _FIRST_OF_OUR_OWN else None
