"""What a generated message may refer to: its place, its time, people, and ids and words that the seed gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from tidegate.loopback.discord.json_shapes import user
from tidegate.loopback.discord.world.history import WORDS
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.snowflakes import LOW_BITS, moment_of, snowflake
from tidegate.loopback.discord.world.world import World

Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a message of some kind is posted; *number* is its id, and *earlier* an older message of the channel."""

    world: World
    channel: Channel
    kind: str
    number: int
    earlier: int

    @property
    def at(self) -> datetime:
        return moment_of(self.number)

    def moment(self, **after: float) -> str:
        """A time so long after the message; negative is before it."""
        return (self.at + timedelta(**after)).isoformat()

    def words(self, what: str = "", count: int = 4) -> str:
        digest = sha256(f"{self.world.seed}/{self.kind}/{what}".encode()).digest()
        return " ".join(WORDS[one % len(WORDS)] for one in digest[:count])

    def id(self, what: str) -> str:
        """The id of something else, such as an emoji or a sticker; the same for the same seed."""
        digest = sha256(f"{self.world.seed}/{what}".encode()).digest()
        return str(
            snowflake(datetime.fromisoformat("2021-01-01T00:00:00+00:00")) + int.from_bytes(digest[:7]) % (1 << 55)
        )

    def user(self, place: int) -> Raw:
        """One of the people, as a message names them."""
        return user(list(self.world.people.values())[place % 7])

    def reference(self, **otherwise: Any) -> Raw:
        """To an earlier message of this channel."""
        shape = {"type": 0, "channel_id": str(self.channel.id), "message_id": str(self.earlier)}
        return shape | ({"guild_id": str(self.channel.guild)} if self.channel.guild else {}) | otherwise

    @property
    def never(self) -> str:
        """The id of a message that was deleted long ago."""
        return str(self.number - (1 << LOW_BITS + 24) - 1)


Maker = Callable[[Scene], Raw]
"""Makes a message's JSON; what every message has may be left out."""
