"""Numbers for groups, whatever their address looks like.

WhatsApp names its groups by addresses: those of new groups are numbers, those of old ones are not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256
from typing import Generic, TypeVar

from tidegate.core.ids import ChannelId

T = TypeVar("T")

FIRST_OF_OUR_OWN = 1 << 62
"""WhatsApp's numbers are below this. Above it are ours for addresses such as 6281200000001-1500000000."""


def group_number(address: str) -> ChannelId:
    """The number of a group: its own where it has one, otherwise one derived from its address."""
    name = address.partition("@")[0]
    if name.isascii() and name.isdigit() and not name.startswith("0") and int(name) < FIRST_OF_OUR_OWN:
        return ChannelId(int(name))
    made = int.from_bytes(sha256(name.encode()).digest()[:8], "big") % FIRST_OF_OUR_OWN
    return ChannelId(FIRST_OF_OUR_OWN + made)


def as_number(written: str) -> str:
    """The bare number of a group as the user wrote it: a WhatsApp address, or with the -100 of Telegram's bots."""
    return str(group_number(written)) if written.endswith("@g.us") else written.removeprefix("-100")


class NamedGroups(Generic[T]):
    """Groups to look up by what the user wrote, each as its title, its number and a value.

    A group that is no longer known has no number.
    """

    def __init__(self, groups: Iterable[tuple[str, ChannelId | None, T]]) -> None:
        self._by_title: dict[str, list[T]] = defaultdict(list)
        self._by_number: dict[str, list[tuple[str, T]]] = defaultdict(list)
        for title, number, kept in groups:
            self._by_title[title].append(kept)
            if number is not None:
                self._by_number[str(number)].append((title, kept))

    def meant_by(self, written: str) -> list[T]:
        """The groups of that title, then those of that number."""
        numbered = self._by_number.get(as_number(written), ())
        return [*self._by_title.get(written, ()), *(kept for title, kept in numbered if title != written)]
