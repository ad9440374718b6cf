"""A Telegram as plain values and back, so that its data can be stored.

Sign-ins, messages, files and the record are stored; faults, connections and parts of unfinished uploads are not.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any

from telethon.tl import TLObject, types

from tidegate.core.clock import Clock
from tidegate.loopback.call_record import Upload
from tidegate.loopback.telegram.tl_objects.tl_json import as_plain, read_arguments
from tidegate.loopback.telegram.tl_objects.tl_json import from_plain as object_from_plain
from tidegate.loopback.telegram.tl_objects.tl_schema import arguments
from tidegate.loopback.telegram.world.channels import Action, ActionKind, Channel, Event, EventKind, Message, Topic
from tidegate.loopback.telegram.world.file_content import Delivery, File, FileKind
from tidegate.loopback.telegram.world.people import OutsideChannel, Person
from tidegate.loopback.telegram.world.private_chats import Box, BoxEvent
from tidegate.loopback.telegram.world.record import Call, Record, Sent
from tidegate.loopback.telegram.world.world import Account, Limits, SignIn, World


def to_plain(world: World, port: int) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps({"port": port, **_world_out(world)}, default=_plain))
    return plain


def from_plain(held: dict[str, Any], clock: Clock) -> tuple[World, int]:
    """The stored world, and the port its platform listened on; ``KeyError`` or similar when the data is not a world."""
    return _world_in(held, clock), held["port"]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, TLObject):
        return as_plain(value)
    raise TypeError(f"{type(value).__name__} is not kept")


def _world_out(world: World) -> dict[str, Any]:
    return {
        "seed": world.seed,
        "limits": asdict(world.limits),
        "accounts": [asdict(account) for account in world.accounts.values()],
        "people": [asdict(person) for person in world.people.values()],
        "outside": [asdict(channel) for channel in world.outside.values()],
        "files": [asdict(file) for file in world.files.values()],
        "channels": [_channel_out(channel) for channel in world.channels.values()],
        "chats": [_channel_out(view) for view in world.chats.views.values()],
        "boxes": {str(account): _box_out(box) for account, box in world.chats.boxes.items()},
        "sign_ins": {str(number): asdict(sign_in) for number, sign_in in world.sign_ins.items()},
        "sent": [[*key, message] for key, message in world.sent.items()],
        "record": asdict(replace(world.record, sessions=[])),
    }


def _channel_out(channel: Channel) -> dict[str, Any]:
    return _fields(channel) | {
        "messages": [
            _fields(message)
            | {
                "file": message.file.id if message.file else None,
                "action": asdict(message.action) if message.action else None,
            }
            for message in channel.messages.values()
        ],
        "topics": [asdict(topic) for topic in channel.topics.values()],
        "events": [[event.pts, event.count, event.kind, event.messages] for event in channel.events],
    }


def _box_out(box: Box) -> dict[str, Any]:
    log = [[one.chat, one.event.pts, one.event.count, one.event.kind, one.event.messages] for one in box.log]
    return {"pts": box.pts, "oldest_pts": box.oldest_pts, "newest_id": box.newest_id, "log": log}


def _box_in(held: dict[str, Any]) -> Box:
    log = [
        BoxEvent(chat, Event(pts, count, EventKind(kind), tuple(messages)))
        for chat, pts, count, kind, messages in held["log"]
    ]
    return Box(held["pts"], held["oldest_pts"], held["newest_id"], log)


def _fields(kept: Channel | Message) -> dict[str, Any]:
    return {field.name: getattr(kept, field.name) for field in fields(kept)}


def _world_in(held: dict[str, Any], clock: Clock) -> World:
    world = World(clock, seed=held["seed"])
    world.limits = Limits(**held["limits"])
    for file in held["files"]:
        pieces = {int(offset): b64decode(piece) for offset, piece in file["pieces"].items()}
        smaller = {letter: b64decode(one) for letter, one in file["smaller"].items()}
        document = object_from_plain(file["document"]) if file.get("document") else None
        kept = {"kind": FileKind(file["kind"]), "pieces": pieces, "smaller": smaller, "document": document}
        kept["delivery"] = Delivery(file["delivery"]) if file.get("delivery") else None
        world.files[file["id"]] = File(**file | kept)
    for person in held.get("people", ()):  # a world of an earlier release has none
        world.people[person["id"]] = Person(**person)
    for outside in held.get("outside", ()):
        world.outside[outside["id"]] = OutsideChannel(**outside)
    for account in held["accounts"]:
        gated = {int(channel): (pts, top) for channel, (pts, top) in account["gated"].items()}
        world.accounts[account["id"]] = Account(**account | {"gated": gated})
    for channel in held["channels"]:
        world.channels[channel["id"]] = _channel_in(channel, world)
    for view in held.get("chats", ()):  # a world of an earlier release has none
        world.chats.views[view["id"]] = _channel_in(view, world)
    for account, box in held.get("boxes", {}).items():
        world.chats.boxes[int(account)] = _box_in(box)
    for number, sign_in in held["sign_ins"].items():
        world.sign_ins[int(number)] = SignIn(**sign_in | {"secret": b64decode(sign_in["secret"])})
    world.sent = {(account, random_id): message for account, random_id, message in held["sent"]}
    world.record = _record_in(held["record"])
    return world


def _channel_in(held: dict[str, Any], world: World) -> Channel:
    topics = [Topic(**_dated(topic)) for topic in held["topics"]]
    return Channel(
        **_dated(held)
        | {
            "members": set(held["members"]),
            "writers": set(held["writers"]),
            "messages": {message["id"]: _message_in(message, world) for message in held["messages"]},
            "topics": {topic.id: topic for topic in topics},
            "events": [
                Event(pts, count, EventKind(kind), tuple(messages)) for pts, count, kind, messages in held["events"]
            ],
        }
    )


def _message_in(held: dict[str, Any], world: World) -> Message:
    action = held["action"]
    edited_at = held["edited_at"]
    return Message(
        **_dated(held)
        | {
            "file": world.files[held["file"]] if held["file"] else None,
            "action": Action(**action | {"kind": ActionKind(action["kind"])}) if action else None,
            "edited_at": datetime.fromisoformat(edited_at) if edited_at else None,
            "fields": _fields_in(held.get("fields", {})),  # a world of an earlier release has none
            "copies": {int(view): number for view, number in held.get("copies", {}).items()},
        }
    )


def _fields_in(held: dict[str, Any]) -> dict[str, Any]:
    """The fields in their order: those of messages, and what only a service message has."""
    said = {name: value for name, value in held.items() if name not in arguments(types.Message)}
    rest = {name: value for name, value in held.items() if name not in said}
    found = read_arguments(types.Message, rest) | read_arguments(types.MessageService, said)
    return {name: found[name] for name in held if name in found}


def _record_in(held: dict[str, Any]) -> Record:
    def moment(entry: dict[str, Any]) -> dict[str, Any]:
        return entry | {"at": datetime.fromisoformat(entry["at"])}

    return Record(
        [Call(**moment(call)) for call in held["calls"]],
        [Sent(**moment(sent)) for sent in held["sends"]],
        [Upload(**moment(upload)) for upload in held["uploads"]],
        held["unknown"],
    )


def _dated(held: dict[str, Any]) -> dict[str, Any]:
    return held | {"date": datetime.fromisoformat(held["date"])}
