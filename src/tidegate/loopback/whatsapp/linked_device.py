"""A linked device as whatsmeow keeps one: it connects again after a drop, and its calls wait for an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from tidegate.core.child_protocol import Frame, pack, read_from
from tidegate.loopback.whatsapp.world import GROUPS

_LOST = "websocket disconnected before message send returned response"
_FINAL = ("logged_out", "banned", "replaced", "outdated")
_MORE_PER_FAILURE = 2.0
"""Seconds by which the pause before another connection grows."""


class Failed(Exception):
    """A call failed; the text is what the library would say."""


class Device:
    """One device; ``run`` holds its thread until it is stopped, the other methods are called from other threads."""

    def __init__(
        self, store: str, jid: str, *, show_qr: Callable[[str], None], tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self.up = False
        self._address = urlsplit(store)
        self._jid = jid
        self._show_qr = show_qr
        self._tell = tell
        self._numbers = count(1)
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._writing = threading.Lock()
        self._changing = threading.Lock()
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None
        self._told_of: set[str] = set()
        self._over = False
        self._linked_now = False

    # What the library's functions need

    def run(self) -> str:
        """Connect, stay connected, and return when stopped; a first connection that fails returns why."""
        failures, connected_once = 0, False
        while not self._stopped.is_set():
            problem = self._live()
            if problem is None:
                connected_once, failures = True, 0
            elif not connected_once and not self._over:
                return problem
            else:
                failures += 1
            if self._over or self._stopped.wait(failures * _MORE_PER_FAILURE):
                break
        self._stopped.wait()
        return ""

    def stop(self) -> None:
        self._stopped.set()
        self._hang_up()

    def send(self, target: str, content: dict[str, str]) -> dict[str, Any]:
        """Send to a group, asking for it first when its members are not known."""
        if target.endswith(f"@{GROUPS}") and target not in self._told_of:
            self.ask("GetGroupInfo", to=target)
            self._told_of.add(target)
        return self.ask("SendMessage", to=target, said=content)

    def groups(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("GetJoinedGroups")["groups"]
        self._told_of |= {group["id"] for group in found}
        return found

    def ask(self, method: str, body: bytes = b"", **args: Any) -> dict[str, Any]:
        """One call, answered or failed."""
        number, future = next(self._numbers), Future[dict[str, Any]]()
        with self._changing:
            if not self.up and method != "PairPhone":
                raise Failed("websocket not connected")
            self._waiting[number] = future
        self._write({"n": number, "method": method, **args}, body)
        return future.result()

    def unknown(self, name: str) -> None:
        if self.up:
            self._write({"n": next(self._numbers), "method": name}, b"")

    # Its connection

    def _live(self) -> str | None:
        """One connection from dial to end; None when it was let in, else why it was not."""
        self._linked_now = False
        try:
            with socket.create_connection((self._address.hostname, self._address.port)) as connection:
                self._socket = connection
                first = {"n": 0, "method": "connect", "device": self._jid} if self._jid else {"n": 0, "method": "pair"}
                self._write(first, b"")
                with connection.makefile("rb") as reader:
                    return self._listen(reader)
        except OSError as problem:
            return f"failed to connect: {problem}"
        finally:
            self._socket = None

    def _listen(self, reader: BinaryIO) -> str | None:
        problem: str | None = "failed to connect: EOF"
        while (frame := read_from(reader)) is not None:
            if frame.head.get("n") == 0:
                problem = self._let_in(frame)
                if problem is not None:
                    return problem
            elif "n" in frame.head:
                self._resolve(frame)
            else:
                self._hear(dict(frame.head))
                if self._linked_now:
                    return None
        was_up = self._lose_calls()
        if was_up and not self._over and not self._stopped.is_set():
            self._tell({"event": "disconnected"})
        return problem

    def _let_in(self, frame: Frame) -> str | None:
        if "error" in frame.head:
            return str(frame.head["error"])
        if self._jid:
            self.up = True
            self._tell({"event": "connected"})
        else:
            self._show_qr(frame.head["ok"]["qr"])
        return None

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "paired":
            self._jid, self._linked_now = event["device"], True
        self._over = self._over or event["event"] in _FINAL
        self._tell(event)

    def _resolve(self, frame: Frame) -> None:
        future = self._waiting.pop(frame.head["n"], None)
        if future is None:
            return
        if "error" in frame.head:
            future.set_exception(Failed(frame.head["error"]))
        else:
            future.set_result(frame.head["ok"])

    def _lose_calls(self) -> bool:
        """The connection is gone, and with it the answers; whether it was up."""
        with self._changing:
            was_up, self.up = self.up, False
            lost, self._waiting = list(self._waiting.values()), {}
        for future in lost:
            future.set_exception(Failed(_LOST))
        return was_up

    def _write(self, head: dict[str, Any], body: bytes) -> None:
        connection = self._socket
        if connection is None:
            self._lose_calls()
            return
        try:
            with self._writing:
                connection.sendall(pack(head, body))
        except OSError:
            self._lose_calls()
            self._hang_up()

    def _hang_up(self) -> None:
        if connection := self._socket:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                return
