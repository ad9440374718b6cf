"""A WhatsApp as plain values and back, so that its truth can be kept.

Phones, groups, messages and the record are kept; faults, connections and codes waiting to be scanned are not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from tidegate.clock import Clock
from tidegate.loopback.whatsapp.record import Record
from tidegate.loopback.whatsapp.world import Group, Limits, Phone, World


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything of a world that outlives its process."""

    port: int
    seed: int
    revision: int
    limits: Limits
    phones: dict[str, Phone]
    groups: dict[str, Group]
    record: Record


_SNAPSHOTS = TypeAdapter(Snapshot)


def to_plain(world: World, port: int) -> dict[str, Any]:
    record = replace(world.record, sessions=[])
    snapshot = Snapshot(port, world.seed, world.revision, world.limits, world.phones, world.groups, record)
    plain: dict[str, Any] = _SNAPSHOTS.dump_python(snapshot, mode="json")
    return plain


def from_plain(held: dict[str, Any], clock: Clock) -> tuple[World, int]:
    """The world that was kept, and the port its platform listened on; a ValueError when it is none."""
    snapshot = _SNAPSHOTS.validate_json(json.dumps(held))
    world = World(clock, seed=snapshot.seed + snapshot.revision)  # else its next ids would be its first ones again
    world.seed, world.revision, world.limits = snapshot.seed, snapshot.revision, snapshot.limits
    world.phones, world.groups, world.record = snapshot.phones, snapshot.groups, snapshot.record
    return world, snapshot.port
