"""The answer of this WhatsApp to each call, or the fault instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from tidegate.loopback.call_record import Upload
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.whatsapp.record import Call, Sent
from tidegate.loopback.whatsapp.world import GROUPS, PEOPLE, Group, Phone, World

TOO_MANY = 104
"""The ban for one message to many, which is what a fan-out that is too fast looks like."""

_UNANSWERED_S = 75.0
_OVERLIMIT = 429


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a device; *body* is a file's bytes."""

    phone: Phone
    method: str
    args: Mapping[str, Any]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered after *seconds*; *hang_up* ends the connection in its place, *event* comes right after."""

    ok: Mapping[str, Any] | None = None
    error: str = ""
    seconds: float = 0
    hang_up: bool = False
    event: Mapping[str, Any] | None = None


def answer(world: World, asked: Asked) -> Reply:
    """Count the call, apply a fault, and carry out the call."""
    if asked.method == "NamesUnder":  # read from the library's own record, which is not a call
        names = [sent.message for sent in world.record.sends if sent.key == asked.args["secret"]]
        return Reply(ok={"names": names})
    target = str(asked.args.get("to", "")).removesuffix(f"@{GROUPS}")
    call = Call(world.clock.now(), asked.phone.number, asked.method, target)
    world.record.calls.append(call)
    world.revision += 1
    group = world.groups.get(target)
    fault = world.faults.strike(asked.method, asked.phone.number, {group.number} if group else ())
    reply = _go_wrong(world, asked, fault) if fault else _do(world, asked)
    call.error = reply.error
    return reply


def _do(world: World, asked: Asked) -> Reply:
    does = _METHODS.get(asked.method)
    if does is None:
        world.record.unknown.append(asked.method)
        return Reply(error=f"undefined symbol: {asked.method}")
    return does(world, asked)


def _go_wrong(world: World, asked: Asked, fault: Fault) -> Reply:
    if fault.kind is FaultKind.WAIT:
        return Reply(error=_status(asked.method, _OVERLIMIT, "rate-overlimit"))
    if fault.kind is FaultKind.ERROR:
        return Reply(error=_status(asked.method, int(fault.code), "refused") if fault.code.isdigit() else fault.code)
    if fault.kind is FaultKind.DISCONNECT:
        return Reply(hang_up=True)
    if fault.kind is FaultKind.DROP_AFTER_ACCEPT:
        _do(world, asked)
        return Reply(hang_up=True)
    if fault.kind is FaultKind.TIMEOUT:
        if fault.code == "accepted":
            _do(world, asked)
        return Reply(error=_timed_out(asked.method), seconds=fault.seconds or _UNANSWERED_S)
    return Reply(hang_up=True, event=strike_down(world, asked.phone, fault))


def strike_down(world: World, phone: Phone, fault: Fault) -> dict[str, Any]:
    """The event for a device when its account is stopped: banned, unlinked, or replaced by another device."""
    if fault.kind is FaultKind.BANNED:
        code = int(fault.code or TOO_MANY)
        seconds = fault.seconds or world.limits.ban_s
        world.ban(phone, code=code, seconds=seconds)
        return {"event": "banned", "code": code, "seconds": seconds}
    if fault.kind is FaultKind.SIGNED_OUT:
        world.unlink(phone)
        return {"event": "logged_out", "reason": int(fault.code or 401)}
    return {"event": "replaced"}


def _status(method: str, code: int, words: str) -> str:
    return f"server returned error {code}" if method == "SendMessage" else f"info query returned status {code}: {words}"


def _timed_out(method: str) -> str:
    return "timed out waiting for message send response" if method == "SendMessage" else "info query timed out"


# The methods


def _send(world: World, asked: Asked) -> Reply:
    if asked.args["to"] == f"{asked.phone.number}@{PEOPLE}":
        return _send_to_self(world, asked)
    group = world.groups.get(str(asked.args["to"]).removesuffix(f"@{GROUPS}"))
    if group is None or asked.phone.number not in group.members:
        return Reply(error="server returned error 403")
    if group.announce and not group.members[asked.phone.number]:
        return Reply(error="server returned error 403")
    said: Mapping[str, str] = asked.args["said"]
    kind, name, file = said["kind"], said.get("name", ""), said.get("file", "")
    if file and file not in {upload.sha256 for upload in world.record.uploads}:
        return Reply(error="server returned error 404")
    message = world.post(group, asked.phone.number, kind, said["text"], name=name, file=file)
    world.record.sends.append(Sent(message.at, asked.phone.number, group.id, said["secret"], message.id, name or kind))
    event = None
    if world.sends_too_fast(asked.phone):
        event = strike_down(world, asked.phone, Fault(FaultKind.BANNED))
    return Reply(ok={"id": message.id, "at": int(message.at.timestamp())}, event=event)


def _send_to_self(world: World, asked: Asked) -> Reply:
    """A message of a phone to itself, on record under its own number; no group has it."""
    said: Mapping[str, str] = asked.args["said"]
    sent = Sent(world.clock.now(), asked.phone.number, asked.phone.number, said["secret"], world.new_id(), said["kind"])
    world.record.sends.append(sent)
    return Reply(ok={"id": sent.message, "at": int(sent.at.timestamp())})


def _groups(world: World, asked: Asked) -> Reply:
    mine = [group for group in world.groups.values() if asked.phone.number in group.members]
    return Reply(ok={"groups": [_shown(group) for group in mine]})


def _group_info(world: World, asked: Asked) -> Reply:
    """The call that whatsmeow makes before it sends to a group it does not know."""
    group = world.groups.get(str(asked.args["to"]).removesuffix(f"@{GROUPS}"))
    if group is None:
        return Reply(error="failed to get group members: that group does not exist")
    if asked.phone.number not in group.members:
        return Reply(error="failed to get group members: you're not participating in that group")
    return Reply(ok=_shown(group))


def _shown(group: Group) -> dict[str, Any]:
    members = [{"jid": f"{number}@{PEOPLE}", "admin": admin} for number, admin in group.members.items()]
    return {"id": f"{group.id}@{GROUPS}", "name": group.name, "announce": group.announce, "members": members}


def _upload(world: World, asked: Asked) -> Reply:
    digest = sha256(asked.body).hexdigest()
    world.record.uploads.append(
        Upload(world.clock.now(), asked.phone.number, str(asked.args["type"]), len(asked.body), digest)
    )
    return Reply(ok={"sha256": digest, "path": f"/v/loopback/{digest[:32]}", "size": len(asked.body)})


def _me(world: World, asked: Asked) -> Reply:
    return Reply(ok={"name": asked.phone.name, "number": asked.phone.number})


def _log_out(world: World, asked: Asked) -> Reply:
    world.unlink(asked.phone)
    return Reply(ok={})


_METHODS: dict[str, Callable[[World, Asked], Reply]] = {
    "SendMessage": _send,
    "GetJoinedGroups": _groups,
    "GetGroupInfo": _group_info,
    "Upload": _upload,
    "GetMe": _me,
    "Logout": _log_out,
}
