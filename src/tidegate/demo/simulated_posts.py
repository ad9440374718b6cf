"""Simulated people who post regularly in the channels of the demo."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from tidegate.core.clock import SystemClock
from tidegate.loopback.discord import World as DiscordWorld
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.zips import small_zip

EVERY = timedelta(seconds=5)

_THINGS = ("Dragon", "Tower", "Bridge", "Goblin", "Lantern", "Harbour", "Knight", "Gearbox")
_PEOPLE = ("Ines", "Jonas", "Mai", "Tomasz")
_TALK = (
    "Printed it in grey, looks great.",
    "Which layer height?",
    "Thanks!",
    "Is there a smaller one?",
    "0.12 mm did it.",
)


async def keep_posting(world: World, *titles: str) -> None:
    """Post in these channels in turn, for ever: text, and every third time an archive with its picture."""
    dice = Random(world.seed)  # noqa: S311 - a world, not a secret
    number = 0
    while True:
        await SystemClock().sleep(EVERY)
        number += 1
        channel = world.channel(titles[number % len(titles)])
        topic = dice.choice(sorted(channel.topics)[1:]) if len(channel.topics) > 1 else 0
        if number % 3:
            world.post(channel, dice.choice(_TALK), topic=topic)
        else:
            _post_thing(world, channel, f"{dice.choice(_THINGS)} {number}", dice, topic)


async def keep_talking(world: DiscordWorld, channel: str) -> None:
    """Post in a Discord channel, for ever; every fifth message is deleted, and every seventh edited."""
    dice = Random(world.seed)  # noqa: S311 - a world, not a secret
    place, number = world.channel(channel), 0
    while True:
        await SystemClock().sleep(EVERY)
        number += 1
        said = world.post(place, dice.choice(_TALK), author=world.person(dice.choice(_PEOPLE)).id)
        if not number % 5:
            world.delete(place, [said.id])
        elif not number % 7:
            world.edit(place, said.id, text=f"{said.text} (I mean it.)")


def _post_thing(world: World, channel: Channel, name: str, dice: Random, topic: int = 0) -> None:
    """Post a picture, then the files."""
    named = name.lower().replace(" ", "-")
    world.post(channel, f"{name}, files below", file=world.add_photo(f"{named}.png"), topic=topic)
    file = world.add_content(f"{named}.zip", small_zip(dice), mime="application/zip")
    world.post(channel, file=file, topic=topic)
