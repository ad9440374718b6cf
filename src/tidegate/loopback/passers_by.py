"""People who post now and then, so that a demo's channels live."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from tidegate.clock import SystemClock
from tidegate.loopback.discord import World as DiscordWorld
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.channels import Channel
from tidegate.loopback.telegram.zips import small_zip

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
    """Post in one of these channels after the other, for ever: talk, and every third time a thing with its picture."""
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
            post_thing(world, channel, f"{dice.choice(_THINGS)} {number}", dice, topic)


async def keep_talking(world: DiscordWorld, channel: str) -> None:
    """Talk in a Discord channel, for ever; every fifth word is taken back, and every seventh put in another way."""
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


def post_thing(world: World, channel: Channel, name: str, dice: Random, topic: int = 0) -> None:
    """Somebody shows a picture, then posts the files."""
    named = name.lower().replace(" ", "-")
    world.post(channel, f"{name}, files below", file=world.add_photo(f"{named}.png"), topic=topic)
    file = world.add_content(f"{named}.zip", small_zip(dice), mime="application/zip")
    world.post(channel, file=file, topic=topic)
