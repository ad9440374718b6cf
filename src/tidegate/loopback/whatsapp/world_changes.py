"""The actions of other users in the world, as the control address requests them."""

from __future__ import annotations

from typing import Any

from tidegate.core.errors import BadInput
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.whatsapp.request_handler import strike_down
from tidegate.loopback.whatsapp.schema import (
    ChangeSpec,
    DeleteSpec,
    EditSpec,
    FaultSpec,
    PairSpec,
    PostSpec,
    ReceiptSpec,
)
from tidegate.loopback.whatsapp.server import WhatsAppServer
from tidegate.loopback.whatsapp.world import Group, Message, Pairing, World, plain

FAULTS = (
    FaultKind.WAIT,
    FaultKind.ERROR,
    FaultKind.DISCONNECT,
    FaultKind.TIMEOUT,
    FaultKind.DROP_AFTER_ACCEPT,
    FaultKind.BANNED,
    FaultKind.SIGNED_OUT,
    FaultKind.REPLACED,
)
"""The faults that this WhatsApp supports; the others belong to other platforms."""


def post(world: World, spec: PostSpec) -> list[str]:
    """Post as another user; returns the ids of the messages."""
    group = world.group(spec.channel)
    texts = [spec.text if spec.count == 1 else f"{spec.text} {number + 1}".strip() for number in range(spec.count)]
    return [world.post(group, plain(spec.author), "text", text).id for text in texts]


def edit(world: World, spec: EditSpec) -> list[str]:
    _message(world.group(spec.channel), spec.id).text = spec.text
    world.revision += 1
    return [spec.id]


def delete(world: World, spec: DeleteSpec) -> list[str]:
    group = world.group(spec.channel)
    gone = {_message(group, number).id for number in spec.ids}
    group.messages = [message for message in group.messages if message.id not in gone]
    world.revision += 1
    return spec.ids


def receipt(server: WhatsAppServer, spec: ReceiptSpec) -> dict[str, Any]:
    """Have a message of ours received; returns which one, and how many devices were notified."""
    group = server.world.group(spec.channel)
    ours = [message for message in group.messages if message.sender in server.world.phones]
    if spec.id is None and not ours:
        raise BadInput(f'No account has sent anything to "{group.name}" yet.')
    message = ours[-1] if spec.id is None else _message(group, spec.id)
    return {"id": message.id, "heard": server.receipt(group, message, spec.kind)}


def pair(server: WhatsAppServer, spec: PairSpec) -> dict[str, str]:
    """Let a phone link the device that waits for it; the device's address."""
    world = server.world
    pairing = _waiting(world, spec)
    named = spec.phone or pairing.phone or next(iter(world.phones), "")
    return {"device": server.scan(world.phone(named), pairing)}


def _waiting(world: World, spec: PairSpec) -> Pairing:
    for pairing in reversed(world.pairings):
        if spec.qr in (None, pairing.qr) and spec.code in (None, pairing.code):
            return pairing
    raise BadInput("No device waits to be linked with that code; run: tidegate account add whatsapp NAME")


def change(server: WhatsAppServer, spec: ChangeSpec) -> dict[str, Any]:
    """Do everything the change asks for."""
    server.world.revision += 1
    if spec.channel is not None:
        _change_group(server.world, server.world.group(spec.channel), spec)
    if spec.account is not None:
        _change_account(server, spec.account, spec)
    if spec.limits is not None:
        spec.limits.set_on(server.world.limits)
    if spec.disconnect:
        server.hang_up()
    return {"changed": True}


def _change_group(world: World, group: Group, spec: ChangeSpec) -> None:
    group.name = spec.name or group.name
    group.announce = group.announce if spec.announce is None else spec.announce
    if spec.joined is not None:
        group.members.setdefault(plain(spec.joined), False)
    if spec.left is not None:
        group.members.pop(plain(spec.left), None)
    if spec.admins is not None:
        admins = {plain(admin) for admin in spec.admins}
        group.members = {number: number in admins for number in group.members}
    if spec.deleted:
        del world.groups[group.id]


def _change_account(server: WhatsAppServer, named: str, spec: ChangeSpec) -> None:
    """A phone is banned, unlinks its devices, or another program takes its session."""
    phone = server.world.phone(named)
    strikes = (
        (Fault(FaultKind.BANNED, seconds=spec.banned_s or 0), spec.banned_s),
        (Fault(FaultKind.SIGNED_OUT), spec.signed_out),
        (Fault(FaultKind.REPLACED), spec.replaced),
    )
    for fault, wanted in strikes:
        if wanted:
            server.tell(phone, strike_down(server.world, phone, fault), hang_up=True)
    if spec.banned_s == 0:
        phone.banned_until = None


def add_fault(world: World, spec: FaultSpec) -> None:
    spec.require_known("WhatsApp", FAULTS)
    channel = world.group(spec.channel).number if spec.channel is not None else 0
    account = world.phone(spec.account).number if spec.account else ""
    world.faults.add(spec.fault(account, channel))


def _message(group: Group, number: str) -> Message:
    for message in group.messages:
        if message.id == number:
            return message
    raise BadInput(f'"{group.name}" has no message {number}.')
