"""A Discord as plain values and back, so that its data can be stored.

Bots, guilds, messages, files and the record are stored; faults, gateway sessions and rate limits in use are not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from tidegate.core.clock import Clock
from tidegate.loopback.discord.rate_limits import Limits
from tidegate.loopback.discord.world.places import Bot, Channel, Guild, User
from tidegate.loopback.discord.world.record import Record
from tidegate.loopback.discord.world.world import World


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
    webhooks: dict[int, User] = field(default_factory=dict)


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
        replace(world.record, sessions=[]),
        world.webhooks,
    )
    plain: dict[str, Any] = _SNAPSHOTS.dump_python(snapshot, mode="json")
    return plain


def from_plain(held: dict[str, Any], clock: Clock) -> tuple[World, int]:
    """The stored world, and the port its platform listened on; ``ValueError`` when the data is not a world."""
    snapshot = _SNAPSHOTS.validate_json(json.dumps(held))
    world = World(clock, seed=snapshot.seed)
    world.newest_id, world.settled = snapshot.newest_id, snapshot.settled
    world.limits, world.record = snapshot.limits, snapshot.record
    world.bots, world.people, world.guilds = snapshot.bots, snapshot.people, snapshot.guilds
    world.webhooks, world.channels = snapshot.webhooks, snapshot.channels
    world.nonces = {(bot, nonce): (channel, message, at) for bot, nonce, channel, message, at in snapshot.nonces}
    return world, snapshot.port
