"""A whole world, all platforms together, as ``PUT /world`` and a file describe it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.discord import World as DiscordWorld
from tidegate.loopback.discord.world import world_builder as discord_making
from tidegate.loopback.discord.world import world_snapshot as discord_keeping
from tidegate.loopback.discord.world.schema import DiscordSpec
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.telegram.world import world_builder as telegram_making
from tidegate.loopback.telegram.world import world_snapshot as telegram_keeping
from tidegate.loopback.telegram.world.schema import WorldSpec as TelegramWorldSpec
from tidegate.loopback.whatsapp import World as WhatsAppWorld
from tidegate.loopback.whatsapp import world_builder as whatsapp_making
from tidegate.loopback.whatsapp import world_snapshot as whatsapp_keeping
from tidegate.loopback.whatsapp.schema import WhatsAppSpec
from tidegate.loopback.world_file import keeps_nothing, load


class WorldSpec(TelegramWorldSpec):
    """A whole world; equal input gives an equal world."""

    discord: DiscordSpec = DiscordSpec()
    whatsapp: WhatsAppSpec = WhatsAppSpec()


SMALL_WORLD = WorldSpec(
    seed=telegram_making.SMALL_WORLD.seed,
    telegram=telegram_making.SMALL_WORLD.telegram,
    discord=discord_making.SMALL_WORLD,
    whatsapp=whatsapp_making.SMALL_WORLD,
)
"""The world a loopback starts with when it is given none."""


def read_world(path: Path) -> WorldSpec:
    """The world a file describes, as ``PUT /world`` takes it; BadInput when it cannot be read."""
    try:
        return WorldSpec.model_validate_json(path.read_text())
    except OSError as problem:
        raise BadInput(f"{path} cannot be read: {problem.strerror}.") from problem
    except ValidationError as problem:
        raise BadInput(f"{path} describes no world ({what_is_wrong(problem.errors())}).") from problem


Loaded = tuple[tuple[TelegramWorld, int], tuple[DiscordWorld, int], tuple[WhatsAppWorld, int]]


def make_worlds(spec: WorldSpec, clock: Clock) -> Loaded:
    """The worlds a description asks for, each to be served on any port."""
    return (
        (telegram_making.make_world(spec, clock), 0),
        (discord_making.make_world(spec.discord, clock, seed=spec.seed), 0),
        (whatsapp_making.make_world(spec.whatsapp, clock, seed=spec.seed), 0),
    )


def load_worlds(path: Path, clock: Clock) -> Loaded:
    """The worlds stored in a file, each with its platform's port; ``BadInput`` when there are none."""
    held = load(path)
    try:
        telegram = telegram_keeping.from_plain(held["telegram"], clock)
        discord = discord_keeping.from_plain(held["discord"], clock)
        return telegram, discord, whatsapp_keeping.from_plain(held["whatsapp"], clock)
    except (ValueError, KeyError, TypeError) as problem:
        raise keeps_nothing(path) from problem


def what_is_wrong(mistakes: Sequence[Any]) -> str:
    """The mistakes a validation found, each with its place."""
    return "; ".join(f"{'.'.join(str(part) for part in mistake['loc'])}: {mistake['msg']}" for mistake in mistakes)
