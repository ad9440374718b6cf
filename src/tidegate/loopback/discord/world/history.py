"""A channel's messages as the platform holds them, and the pages it makes of them.

The messages a world was made with are computed when they are read, so a channel of a million costs nothing until then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import ConfigDict, PlainSerializer

from tidegate.loopback.discord.world.snowflakes import LOW_BITS, moment_of, snowflake

IN_ORDER = PlainSerializer(sorted)
"""A set with a fixed order, so that equal worlds are stored as equal files."""

WORDS = (
    "anchor", "beacon", "current", "drift", "ebb", "flood", "gate", "harbour", "island", "jetty", "keel", "lagoon",
    "mooring", "narrows", "oar", "pier", "quay", "reef", "sail", "tide", "undertow", "vessel", "wharf", "yawl",
)  # fmt: skip


@dataclass(slots=True)
class Attachment:
    """A file that belongs to a message; *fields* are further ones, as Discord spells them.

    A *hidden* one is not in the message's own list: an embed, a component or a snapshot of the message names it.
    """

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")  # how its bytes are kept
    id: int
    name: str
    content: bytes
    mime: str = "application/octet-stream"
    fields: dict[str, Any] = field(default_factory=dict)
    hidden: bool = False


@dataclass(slots=True)
class PollState:
    """Who voted for which answer of a message's poll, and whether the result is final."""

    votes: dict[int, list[int]] = field(default_factory=dict)
    finalized: bool = False


@dataclass(slots=True)
class Message:
    """One message. *fields* are further ones, as Discord spells them; *reactions* has who reacted with which emoji.

    *bursts* are super reactions. *poll* is None where the platform tells no result, or there is no poll.
    """

    id: int
    author: int
    text: str = ""
    kind: int = 0
    flags: int = 0
    edited_at: datetime | None = None
    reply_to: int = 0
    nonce: str = ""
    attachments: list[Attachment] = field(default_factory=list)
    reactions: dict[str, list[int]] = field(default_factory=dict)
    bursts: dict[str, list[int]] = field(default_factory=dict)
    pinned_at: datetime | None = None
    poll: PollState | None = None
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """The messages a channel was made with: *count* from *begins* on, one each *step*, by *authors* in turn.

    Both are in milliseconds of Discord's own time, and a message comes somewhere within the first two thirds of its
    step. *low* are the low bits of the ids; no two channels share them, so no two messages of a world have one id.
    """

    count: int
    begins: int
    step: int
    low: int
    title: str
    authors: tuple[int, ...]

    @classmethod
    def until(cls, ends: datetime, count: int, every: timedelta, **otherwise: Any) -> Made:
        """A number of messages before *ends*, one per *every*; *otherwise* are the other fields."""
        step = max(1, every // timedelta(milliseconds=1))
        return cls(count, (snowflake(ends) >> LOW_BITS) - step * count, step, **otherwise)

    def id_at(self, place: int) -> int:
        uneven = place * 2_654_435_761 % 4_294_967_296 * (self.step * 2 // 3) >> 32
        return (self.begins + place * self.step + uneven) << LOW_BITS | self.low

    @property
    def begun_at(self) -> datetime:
        return moment_of(self.begins << LOW_BITS)

    def place_of(self, number: int) -> int | None:
        place = bisect_left(range(self.count), number, key=self.id_at)
        return place if place < self.count and self.id_at(place) == number else None

    def message(self, place: int) -> Message:
        words = (WORDS[(place * step + self.low) % len(WORDS)] for step in (1, 7, 11))
        author = self.authors[place * 31 % 97 % len(self.authors)]
        return Message(self.id_at(place), author, f"Message {place + 1} of {self.title}: {' '.join(words)}")


@dataclass(slots=True)
class History:
    """All messages of a channel by id: those it was made with, and what people did since."""

    made: Made | None = None
    gone: Annotated[set[int], IN_ORDER] = field(default_factory=set)  # made messages that were deleted
    posted: list[int] = field(default_factory=list)  # ids of messages that came later, oldest first
    held: dict[int, Message] = field(default_factory=dict)  # those that came later, and made ones that changed

    def __len__(self) -> int:
        return self._made - len(self.gone) + len(self.posted)

    def __iter__(self) -> Iterator[Message]:
        """Oldest first."""
        return (message for place in range(self._made + len(self.posted)) if (message := self._at(place)) is not None)

    @property
    def _made(self) -> int:
        return self.made.count if self.made else 0

    def get(self, number: int) -> Message | None:
        if number in self.held:
            return self.held[number]
        if self.made is None or number in self.gone:
            return None
        place = self.made.place_of(number)
        return None if place is None else self.made.message(place)

    def put(self, message: Message) -> None:
        """A new message, newer than those the channel was made with, or an old one that changed."""
        if self.get(message.id) is None:
            insort(self.posted, message.id)
        self.held[message.id] = message

    def takes(self, number: int) -> bool:
        """Whether a new message may have this id: it is unused, and above those the channel was made with."""
        newest_made = self.made.id_at(self.made.count - 1) if self.made and self.made.count else 0
        return number > newest_made and number not in self.held

    def remove(self, number: int) -> None:
        self.held.pop(number, None)
        place = bisect_left(self.posted, number)
        if place < len(self.posted) and self.posted[place] == number:
            del self.posted[place]
        else:
            self.gone.add(number)

    def before(self, bound: int | None, limit: int) -> list[Message]:
        """The *limit* messages nearest below *bound*, or the newest ones; newest first."""
        found: list[Message] = []
        place = self._first_above(bound - 1) if bound is not None else self._made + len(self.posted)
        while place > 0 and len(found) < limit:
            place -= 1
            if (message := self._at(place)) is not None:
                found.append(message)
        return found

    def after(self, bound: int, limit: int) -> list[Message]:
        """The *limit* messages nearest above *bound*; newest first, as every page is."""
        found: list[Message] = []
        place, end = self._first_above(bound), self._made + len(self.posted)
        while place < end and len(found) < limit:
            if (message := self._at(place)) is not None:
                found.append(message)
            place += 1
        return found[::-1]

    def around(self, number: int, limit: int) -> list[Message]:
        """Half of *limit* on either side of a message, and the message itself where there is one; newest first."""
        here = self.get(number)
        return [*self.after(number, limit // 2), *([here] if here else []), *self.before(number, limit // 2)]

    def newest(self) -> int:
        """The id of the newest message there is; 0 when there is none."""
        return next((message.id for message in self.before(None, 1)), 0)

    def _at(self, place: int) -> Message | None:
        """The message at a place, counting made ones and then later ones; None where it was deleted."""
        if self.made is None or place >= self.made.count:
            return self.held[self.posted[place - self._made]]
        number = self.made.id_at(place)
        if number in self.gone:
            return None
        return self.held.get(number) or self.made.message(place)

    def _first_above(self, bound: int) -> int:
        made = self.made
        place = bisect_right(range(made.count), bound, key=made.id_at) if made else 0
        return place if place < self._made else self._made + bisect_right(self.posted, bound)


def written_at(message: Message) -> datetime:
    return moment_of(message.id)
