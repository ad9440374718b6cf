"""Makes a WhatsApp from what an operator or a test asks for; equal input gives an equal world."""

from __future__ import annotations

from tidegate.core.clock import Clock
from tidegate.loopback.whatsapp.schema import GroupSpec, PhoneSpec, WhatsAppSpec
from tidegate.loopback.whatsapp.world import World, plain

SMALL_WORLD = WhatsAppSpec(
    phones=[PhoneSpec(phone="+6281200000001", name="Shop")],
    groups=[
        GroupSpec(name="Shops", count=12),
        GroupSpec(name="Suppliers", old_style=True),
        GroupSpec(name="News", announce=True),
    ],
)
"""The WhatsApp a loopback starts with when it is given none."""


def make_world(spec: WhatsAppSpec, clock: Clock, *, seed: int = 1) -> World:
    world = World(clock, seed=seed)
    for phone in spec.phones:
        world.add_phone(phone.phone, phone.name)
    for group in spec.groups:
        _add(world, group)
    spec.limits.set_on(world.limits)
    return world


def _add(world: World, spec: GroupSpec) -> None:
    for number in range(spec.count):
        name = f"{spec.name} {number + 1}" if spec.count > 1 else spec.name
        group = world.add_group(name, announce=spec.announce, admins=tuple(spec.admins), old_style=spec.old_style)
        if spec.members is not None:
            wanted = {plain(member) for member in spec.members}
            group.members = {phone: admin for phone, admin in group.members.items() if phone in wanted}
