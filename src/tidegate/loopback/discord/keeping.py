"""A Discord as plain values and back, so that its truth can be kept.

Bots, guilds, messages, files and the record are kept; faults, gateway sessions and rate limits in use are not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from tidegate.clock import Clock
from tidegate.loopback.discord.limits import Limits
from tidegate.loopback.discord.places import Bot, Channel, Guild, User
from tidegate.loopback.discord.record import Record
from tidegate.loopback.discord.world import World


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything of a world that outlives its process."""

    port: int
    seed: int
    newest_id: int
    settled: int
    limits: Limits
    bots: dict[int, Bot]
    people: dict[int, User]
    guilds: dict[int, Guild]
    channels: dict[int, Channel]
    nonces: list[tuple[int, str, int, int, datetime]]
    record: Record


_SNAPSHOTS = TypeAdapter(Snapshot)


def to_plain(world: World, port: int) -> dict[str, Any]:
    snapshot = Snapshot(
        port,
        world.seed,
        world.newest_id,
        world.settled,
        replace(world.limits, buckets={}),
        world.bots,
        world.people,
        world.guilds,
        world.channels,
        [(*key, *held) for key, held in world.nonces.items()],
        replace(world.record, sessions=[], invalid=[]),
    )
    plain: dict[str, Any] = _SNAPSHOTS.dump_python(snapshot, mode="json")
    return plain


def from_plain(held: dict[str, Any], clock: Clock) -> tuple[World, int]:
    """The world that was kept, and the port its platform listened on; a ValueError when it is none."""
    snapshot = _SNAPSHOTS.validate_json(json.dumps(held))
    world = World(clock, seed=snapshot.seed)
    world.newest_id, world.settled = snapshot.newest_id, snapshot.settled
    world.limits, world.record = snapshot.limits, snapshot.record
    world.bots, world.people, world.guilds = snapshot.bots, snapshot.people, snapshot.guilds
    world.channels = snapshot.channels
    world.nonces = {(bot, nonce): (channel, message, at) for bot, nonce, channel, message, at in snapshot.nonces}
    return world, snapshot.port
