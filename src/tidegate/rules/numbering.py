"""Groups by number, however they are written.

WhatsApp names its groups by addresses: those of new groups are numbers, of old ones not.
"""

from __future__ import annotations

from hashlib import sha256

FIRST_OF_OUR_OWN = 1 << 62
"""WhatsApp's numbers are below it. Above it are those we make of addresses like 6281200000001-1500000000."""


def group_number(address: str) -> int:
    """The number of a group: its own where it has one, else one that is always the same for the same address."""
    name = address.partition("@")[0]
    if name.isascii() and name.isdigit() and not name.startswith("0") and int(name) < FIRST_OF_OUR_OWN:
        return int(name)
    made = int.from_bytes(sha256(name.encode()).digest()[:8], "big") % FIRST_OF_OUR_OWN
    return FIRST_OF_OUR_OWN + made


def as_number(written: str) -> str:
    """What is written for a group, as a bare number: of a WhatsApp address, or without the -100 of Telegram's bots."""
    return str(group_number(written)) if written.endswith("@g.us") else written.removeprefix("-100")


def means(written: str, title: str, number: int | None) -> bool:
    """Whether *written* stands for the group of that title and number; one that nobody knows any more has no number."""
    return written == title or (number is not None and as_number(written) == str(number))
