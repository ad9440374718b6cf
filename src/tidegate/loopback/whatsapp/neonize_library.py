"""A stand-in for neonize's Go library: the same functions, on a loopback WhatsApp.

neonize's own Python layer runs on it unmodified. It returns protobuf as the library does, and passes on only events
that were subscribed to. It reconnects after a drop, and fetches an unknown group before it sends to it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import neonize.aioze.client
from neonize.proto import Neonize_pb2 as wire
from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message
from neonize.utils.jid import Jid2String, build_jid

from tidegate.loopback.whatsapp.linked_device import Device, Failed

_EVENTS = {"paired": 2, "connected": 3, "logged_out": 6, "replaced": 7, "banned": 8, "outdated": 10,
           "disconnected": 12, "receipt": 18}  # fmt: skip
_LOGGED_OUT = {401: wire.LOGGED_OUT, 403: wire.MAIN_DEVICE_GONE, 406: wire.UNKNOWN_LOGOUT}
_BANS = {101: 1, 102: 2, 103: 3, 104: 4, 106: 5}
_RECEIPTS = {"delivered": "DELIVERED", "read": "READ", "played": "PLAYED", "retry": "RETRY"}


def install() -> None:
    """Put the stand-in in the library's place, in a process that has no client yet."""
    neonize.aioze.client.gocode = StandIn()


class StandIn:
    """What ``neonize.aioze.client`` calls; a store's name is the address of the loopback WhatsApp."""

    def __init__(self) -> None:
        self._devices: dict[bytes, Device] = {}

    def __getattr__(self, name: str) -> Any:
        """A function that the stand-in does not have is missing as a symbol of a library is, and listed as unknown."""
        for device in self._devices.values():
            device.unknown(name)
        raise AttributeError(f"undefined symbol: {name}")

    def Neonize(self, *given: Any) -> bytes:  # noqa: N802 - the library's name
        """Connect, and return when stopped, or with the reason why the first connection failed."""
        store, uuid, jid, _, _, _, show_qr, _, on_event, _, subscribed, count = given[:12]
        wanted = set(bytes(subscribed)[:count])
        device = Device(
            store.decode(),
            Jid2String(wire.JID.FromString(jid)) if jid else "",
            show_qr=lambda code: show_qr(uuid, ctypes.cast(ctypes.c_char_p(code.encode()), ctypes.c_void_p)),
            tell=lambda event: _tell(on_event, uuid, wanted, event),
        )
        self._devices[uuid] = device
        return device.run().encode()

    def Stop(self, uuid: bytes) -> None:  # noqa: N802
        if device := self._devices.pop(uuid, None):
            device.stop()

    def Disconnect(self, uuid: bytes) -> None:  # noqa: N802
        self.Stop(uuid)

    def SendMessage(self, uuid: bytes, to: bytes, _: int, message: bytes, __: int) -> bytes:  # noqa: N802
        target, content = Jid2String(wire.JID.FromString(to)), Message.FromString(message)
        answer = wire.SendMessageReturnFunction()
        try:
            sent = self._device(uuid).send(target, _described(content))
            answer.SendResponse.CopyFrom(wire.SendResponse(ID=sent["id"], Timestamp=sent["at"], ServerID=0))
        except Failed as failed:
            answer.Error = str(failed)
        return bytes(answer.SerializePartialToString())

    def NamesUnder(self, uuid: bytes, secret: str) -> list[str]:  # noqa: N802
        """The messages that the library would have recorded with this secret."""
        found: list[str] = self._device(uuid).ask("NamesUnder", secret=secret)["names"]
        return found

    def Upload(self, uuid: bytes, content: bytes, _: int, kind: int) -> bytes:  # noqa: N802
        answer = wire.UploadReturnFunction()
        try:
            taken = self._device(uuid).ask("Upload", content, type=kind)
            answer.UploadResponse.CopyFrom(_uploaded(taken))
        except Failed as failed:
            answer.Error = str(failed)
        return bytes(answer.SerializePartialToString())

    def GetJoinedGroups(self, uuid: bytes) -> bytes:  # noqa: N802
        answer = wire.GetJoinedGroupsReturnFunction()
        try:
            answer.Group.extend(_group(group) for group in self._device(uuid).groups())
        except Failed as failed:
            answer.Error = str(failed)
        return bytes(answer.SerializePartialToString())

    def GetMe(self, uuid: bytes) -> bytes:  # noqa: N802
        me = self._device(uuid).ask("GetMe")
        device = wire.Device(PushName=me["name"], JID=build_jid(me["number"]), Platform="loopback")
        return bytes(device.SerializePartialToString())

    def PairPhone(self, uuid: bytes, asked: bytes, _: int) -> bytes:  # noqa: N802
        answer = wire.PairPhoneReturnFunction()
        try:
            phone = wire.PairPhoneParams.FromString(asked).phone
            answer.Code = self._device(uuid).ask("PairPhone", phone=phone)["code"]
        except Failed as failed:
            answer.Error = str(failed)
        return bytes(answer.SerializePartialToString())

    def Logout(self, uuid: bytes) -> bytes:  # noqa: N802
        try:
            self._device(uuid).ask("Logout")
        except Failed as failed:
            return str(failed).encode()
        return b""

    def IsConnected(self, uuid: bytes) -> bool:  # noqa: N802
        return uuid in self._devices and self._devices[uuid].up

    def IsLoggedIn(self, uuid: bytes) -> bool:  # noqa: N802
        return self.IsConnected(uuid)

    def _device(self, uuid: bytes) -> Device:
        if uuid not in self._devices:
            raise Failed("client is nil")
        return self._devices[uuid]


def _tell(call: Callable[..., None], uuid: bytes, wanted: set[int], event: dict[str, Any]) -> None:
    """Pass an event on as the library does: protobuf in memory, and the number of its kind."""
    number = _EVENTS[event["event"]]
    if number in wanted:
        written = _event(event).SerializePartialToString()
        held = ctypes.create_string_buffer(written, len(written))
        call(uuid, ctypes.cast(held, ctypes.c_void_p), len(written), number)


def _event(event: dict[str, Any]) -> Any:
    kind = event["event"]
    if kind == "paired":
        return wire.PairStatus(ID=_jid(event["device"]), Status=wire.PairStatus.SUCCESS, Platform="loopback")
    if kind == "logged_out":
        return wire.LoggedOut(OnConnect=True, Reason=_LOGGED_OUT.get(event["reason"], wire.LOGGED_OUT))
    if kind == "banned":
        return wire.TemporaryBan(Code=_BANS.get(event["code"], 4), Expire=int(event["seconds"]))
    if kind == "receipt":
        source = wire.MessageSource(Chat=_jid(event["chat"]), Sender=build_jid(event["reader"]), IsGroup=True)
        read = wire.Receipt.ReceiptType.Value(_RECEIPTS[event["kind"]])
        return wire.Receipt(MessageSource=source, MessageIDs=event["ids"], Timestamp=event["at"], Type=read)
    return {
        "connected": wire.Connected(status=True),
        "disconnected": wire.Disconnected(status=True),
        "replaced": wire.StreamReplaced(),
        "outdated": wire.ClientOutdated(),
    }[kind]


def _jid(written: str) -> Any:
    user, _, server = written.partition("@")
    number, _, device = user.partition(":")
    jid = build_jid(number, server)
    jid.Device = int(device or 0)
    return jid


def _group(group: dict[str, Any]) -> Any:
    members = [wire.GroupParticipant(JID=_jid(member["jid"]), IsAdmin=member["admin"]) for member in group["members"]]
    return wire.GroupInfo(
        JID=_jid(group["id"]),
        GroupName=wire.GroupName(Name=group["name"]),
        GroupAnnounce=wire.GroupAnnounce(IsAnnounce=group["announce"]),
        Participants=members,
    )


def _uploaded(taken: dict[str, Any]) -> Any:
    digest = bytes.fromhex(taken["sha256"])
    return wire.UploadResponse(
        url=f"https://mmg.loopback.invalid{taken['path']}",
        DirectPath=taken["path"],
        Handle="",
        MediaKey=digest[::-1],
        FileEncSHA256=digest,
        FileSHA256=digest,
        FileLength=taken["size"],
    )


def _described(content: Any) -> dict[str, str]:
    """The text of a message, as the platform stores it."""
    secret = content.messageContextInfo.messageSecret.hex()
    for field, kind in (("imageMessage", "picture"), ("videoMessage", "video"), ("documentMessage", "document")):
        if content.HasField(field):
            media = getattr(content, field)
            name = getattr(media, "fileName", "")
            file = media.fileSHA256.hex()
            return {"kind": kind, "text": media.caption, "name": name, "file": file, "secret": secret}
    return {"kind": "text", "text": content.conversation or content.extendedTextMessage.text, "secret": secret}
