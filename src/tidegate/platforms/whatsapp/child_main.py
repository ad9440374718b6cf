"""The child process that runs one account's WhatsApp client and executes its parent's requests.

neonize blocks, keeps clients in global maps and prints to standard output. So each account has a process of its own. It
ends when its parent has ended, or has been silent so long that another worker may serve the account.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any

from neonize._binder import ProxySettings
from neonize.aioze import client as aioze
from neonize.aioze.client import NewAClient
from neonize.exc import NeonizeError
from neonize.proto.waCompanionReg.WAWebProtobufsCompanionReg_pb2 import DeviceProps
from neonize.utils.jid import build_jid

from tidegate.core.child_protocol import Frame, pack, read
from tidegate.core.clock import SystemClock
from tidegate.platforms.whatsapp import message_content
from tidegate.platforms.whatsapp.child_events import listen, written

_CLOCK = SystemClock()
_LOOKS_A_LIMIT = 8
"""How often the parent's silence is checked within the permitted time."""


class ChildClient:
    """One account's client, and the pipe to its parent."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._client: NewAClient | None = None
        self._heard_at = _CLOCK.ticks()
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        """Write a message to the parent: it is in the pipe when this returns, even if this process then dies."""
        whole = memoryview(pack(head, body))
        while whole:
            whole = whole[os.write(self._out, whole) :]

    async def obey(self, parent: asyncio.StreamReader) -> None:
        """Execute the parent's requests until the parent has ended."""
        while (frame := await read(parent)) is not None:
            self._heard_at = _CLOCK.ticks()
            if "open" in frame.head:
                self._begin(self._open(frame.head["open"]))
            elif "call" in frame.head:
                self._begin(self._answer(frame))

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self, how: Mapping[str, Any]) -> None:
        """Connect with a stored sign-in, or as a new device that shows codes to be linked by."""
        threading.Thread(target=self._watch, args=(how["silent_after"],), daemon=True).start()
        address = written(how["device"]) if how["device"] else None
        props = DeviceProps(os="Tidegate", platformType=DeviceProps.DESKTOP)
        client = NewAClient(how["session"], jid=address, props=props, uuid=how["name"], new_device=address is None)
        listen(client, self.tell)
        self._client = client
        try:
            await (await client.connect(ProxySettings(how["proxy"]) if how["proxy"] else None))
        except NeonizeError as problem:
            self.tell({"event": "failed", "error": str(problem)})

    def _watch(self, silent_after: float) -> None:
        """End this process when the parent has been silent too long, in a thread that nothing can block."""
        while _CLOCK.ticks() - self._heard_at < silent_after:
            time.sleep(silent_after / _LOOKS_A_LIMIT)
        os._exit(3)

    async def _answer(self, frame: Frame) -> None:
        head = frame.head
        number = head["n"]
        if _CLOCK.ticks() > head["before"]:
            self.tell({"n": number, "late": True})
            return
        try:
            assert self._client is not None
            call = CALLS[head["call"]]
            begun = self._mark_begun(number)
            answer, body = await call(self._client, frame, begun)
            self.tell({"n": number, "ok": answer}, body)
        except NeonizeError as problem:
            self.tell({"n": number, "error": str(problem)})
        except Exception as problem:  # noqa: BLE001 - the parent decides what it means; it must get an answer
            self.tell({"n": number, "error": f"{type(problem).__name__}: {problem}"})

    def _mark_begun(self, number: int) -> Callable[[], None]:
        return lambda: self.tell({"begun": number})


Answer = tuple[dict[str, Any], bytes]


async def _send(client: NewAClient, frame: Frame, begun: Callable[[], None]) -> Answer:
    head = frame.head
    if "media" in head:
        message = message_content.media_message(frame.body, head["media"], head["text"])
    else:
        message = message_content.text_message(head["text"])
    message.messageContextInfo.messageSecret = bytes.fromhex(head["secret"])
    target = build_jid(*head["to"].split("@"))
    begun()
    sent = await client.send_message(target, message)
    return {"id": sent.ID, "at": sent.Timestamp}, b""


async def _upload(client: NewAClient, frame: Frame, begun: Callable[[], None]) -> Answer:
    begun()
    kind = frame.head["kind"]
    uploaded = await client.upload(frame.body, message_content.uploaded_as(kind))
    at = int(_CLOCK.now().timestamp())
    return {}, await asyncio.to_thread(message_content.reference, uploaded, frame.body, kind, at=at)


async def _groups(client: NewAClient, _: Frame, begun: Callable[[], None]) -> Answer:
    begun()
    found = [
        {
            "id": f"{group.JID.User}@{group.JID.Server}",
            "name": group.GroupName.Name,
            "announce": group.GroupAnnounce.IsAnnounce,
            "community": group.GroupParent.IsParent,
            "members": [
                [member.JID.User, member.PhoneNumber.User, member.IsAdmin or member.IsSuperAdmin]
                for member in group.Participants
            ]
            if group.GroupAnnounce.IsAnnounce
            else [],
        }
        for group in await client.get_joined_groups()
    ]
    return {"groups": found}, b""


async def _me(client: NewAClient, _: Frame, begun: Callable[[], None]) -> Answer:
    begun()
    me = await client.get_me()
    return {"number": me.JID.User, "lid": me.LID.User, "name": me.PushName}, b""


async def _log_out(client: NewAClient, _: Frame, begun: Callable[[], None]) -> Answer:
    begun()
    await client.logout()
    return {}, b""


async def _code(client: NewAClient, frame: Frame, begun: Callable[[], None]) -> Answer:
    begun()
    return {"code": await client.PairPhone(frame.head["phone"], show_push_notification=True)}, b""


async def _names(client: NewAClient, frame: Frame, begun: Callable[[], None]) -> Answer:
    """Only a stand-in gets this call: the library's record is in the database, where the parent reads it."""
    begun()
    found = await asyncio.to_thread(aioze.gocode.NamesUnder, client.uuid, frame.head["secret"])
    return {"names": found}, b""


CALLS: dict[str, Callable[[NewAClient, Frame, Callable[[], None]], Awaitable[Answer]]] = {
    "send": _send,
    "upload": _upload,
    "names": _names,
    "groups": _groups,
    "me": _me,
    "log_out": _log_out,
    "code": _code,
}


async def _serve(out: int) -> None:
    parent = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(parent), sys.stdin)
    await ChildClient(out).obey(parent)


def main() -> None:
    """Serve the parent over standard input and output, then end at once, even with blocked threads.

    An argument names the module that replaces neonize's library for a loopback account.
    """
    out = os.dup(1)
    os.dup2(2, 1)  # the library prints to standard output, which is the parent's pipe
    logging.getLogger().setLevel(logging.WARNING)
    if sys.argv[1:]:
        import_module(sys.argv[1]).install()
    logging.getLogger("neonize.utils.ffmpeg").setLevel(logging.ERROR)  # nothing here needs it
    asyncio.run(_serve_and_end(out))


async def _serve_and_end(out: int) -> None:
    await _serve(out)
    os._exit(0)


if __name__ == "__main__":
    main()
