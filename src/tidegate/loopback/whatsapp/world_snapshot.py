"""A WhatsApp as plain values and back, so that its data can be stored.

Phones, groups, messages and the record are stored; faults, connections and codes waiting to be scanned are not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from tidegate.core.clock import Clock
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
    """The stored world, and the port its platform listened on; ``ValueError`` when the data is not a world."""
    snapshot = _SNAPSHOTS.validate_json(json.dumps(held))
    world = World(clock, seed=snapshot.seed + snapshot.revision)  # otherwise ids would be given out a second time
    world.seed, world.revision, world.limits = snapshot.seed, snapshot.revision, snapshot.limits
    world.phones, world.groups, world.record = snapshot.phones, snapshot.groups, snapshot.record
    return world, snapshot.port
