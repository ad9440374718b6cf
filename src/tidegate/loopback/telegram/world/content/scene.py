"""What a made message consists of, and what it is made from: a world, its people, and dice."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from telethon.tl import TLObject, types

from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.people import OutsideChannel, Person
from tidegate.loopback.telegram.world.pictures import SIZES, photo_sizes
from tidegate.loopback.telegram.world.world import World

NOUNS = ("harbour", "lantern", "dragon", "tower", "bridge", "anchor", "ledger", "kettle", "compass", "orchard")


@dataclass(slots=True)
class Draft:
    """A message that is not posted yet: its text, and its fields as the schema names them."""

    text: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    album: bool = False
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a message is made: its content comes from the dice, its people are those of the world."""

    world: World
    channel: Channel
    dice: Random
    date: datetime

    @property
    def number(self) -> int:
        """An id of 62 bits, as the platform gives to polls, pages and files."""
        return self.dice.getrandbits(62)

    def words(self, count: int = 6) -> str:
        return " ".join(self.dice.choice(NOUNS) for _ in range(count)).capitalize()

    def person(self, first_name: str, last_name: str = "", **otherwise: Any) -> Person:
        """Somebody of the usual cast, the same in every message."""
        full = f"{first_name} {last_name}".strip()
        found = (person for person in self.world.people.values() if person.first_name and person.name == full)
        return next(found, None) or self.world.add_person(first_name, last_name, **otherwise)

    @property
    def mira(self) -> Person:
        return self.person("Mira", "Okafor", usernames=["mira"])

    @property
    def jonas(self) -> Person:
        return self.person("Jonas", "Lind", usernames=["jonas", "jonas_lind"], premium=True)

    @property
    def bot(self) -> Person:
        return self.person("Ledger Bot", usernames=["ledger_bot"], bot=True)

    @property
    def ghost(self) -> Person:
        return self.person("Gone", "Away", deleted=True)

    @property
    def far_news(self) -> OutsideChannel:
        number = 1_400_000_001
        return self.world.outside.setdefault(number, OutsideChannel(number, "Far News", "far_news"))

    def photo(self, name: str = "") -> types.Photo:
        """A real picture in three sizes."""
        file = self.world.add_photo(name or f"{self.dice.choice(NOUNS)}-{self.dice.randrange(1000)}.png")
        sizes: list[TLObject] = [types.PhotoStrippedSize("i", bytes([1, 40, 40]) + self.dice.randbytes(30))]
        for letter, pixels in SIZES.items():
            held = file.smaller.get(letter)
            sizes.append(types.PhotoSize(letter, pixels, pixels, len(held) if held else file.size))
        return types.Photo(file.id, 0, b"", self.date, sizes, file.centre)

    def document(
        self, name: str, mime: str, content: bytes, *attributes: TLObject, size: int = 0, preview: bool = False
    ) -> types.Document:
        """A document; with a *size* the given bytes are only its beginning, and the others are computed."""
        file = self.world.add_file(name, size or len(content), mime=mime, pieces={0: content})
        if preview:
            file.smaller = {"m": photo_sizes(name or mime)["x"]}
        thumbs = [types.PhotoSize(letter, 320, 180, len(held)) for letter, held in file.smaller.items()]
        held = [*attributes, *([types.DocumentAttributeFilename(name)] if name else [])]
        return types.Document(file.id, 0, b"", self.date, mime, file.size, file.centre, held, thumbs=thumbs or None)
