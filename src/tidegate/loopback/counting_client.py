"""The client of the counting platform."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from tidegate.core.account import Account
from tidegate.core.child_protocol import pack, read
from tidegate.core.errors import NotSent, OutcomeUnknown, PlatformError
from tidegate.core.ids import ChannelId, MessageId
from tidegate.platforms.interface import Head, HistoryPage, NoteConnect, Opener, Receipt, SendKey, Vault


def counting_opener(address: str) -> Opener:
    """Connects accounts to the counting platform at *address*; it asks for no sign-in, so the vault stays untouched."""

    async def connect(account: Account, vault: Vault, note_connect: NoteConnect) -> CountingClient:
        host, _, port = address.rpartition(":")
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
        except OSError as problem:
            raise PlatformError(f"The loopback platform at {address} does not answer; is it running?") from problem
        client = CountingClient(reader, writer)
        try:
            note_connect("hello")
            await client.hello(account.name)
        except BaseException:  # given up half-way, perhaps because the account moves: the connection must not stay
            await client.close()
            raise
        return client

    return connect


class CountingClient:
    """One account's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._listening: asyncio.Task[None] | None = None
        self.pre_send_check: Callable[[], object] = lambda: None

    async def hello(self, account: str) -> None:
        self._writer.write(pack({"account": account, "process": str(os.getpid())}))
        await read(self._reader)
        self._listening = asyncio.create_task(self._listen())

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]:
        answer = await self._call("heads", channels=list(channels))
        return {channel: Head(newest=MessageId(answer["message"]), changes=answer["message"]) for channel in channels}

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> HistoryPage:
        await self._call("page", channel=channel, before=before)
        return HistoryPage(messages=[], reached_start=True)

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        if self._writer.is_closing():
            raise NotSent("The connection to the loopback platform is closed; nothing was sent.")
        try:
            answer = await self._call("send", channel=channel, text=text, key=key)
        except PlatformError as problem:
            raise OutcomeUnknown(f"The message was handed over and not answered: {problem}") from problem
        return Receipt(MessageId(answer["message"]), datetime.fromisoformat(answer["at"]))

    async def close(self) -> None:
        self._writer.close()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _call(self, method: str, **arguments: object) -> Mapping[str, Any]:
        if self._listening is None or self._listening.done():
            raise PlatformError("The connection to the loopback platform is lost.")
        number = next(self._numbers)
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        request = pack({"call": number, "method": method, **arguments})
        try:
            self.pre_send_check()
            self._writer.write(request)
            return await answer
        finally:
            del self._waiting[number]

    async def _listen(self) -> None:
        while (answer := await read(self._reader)) is not None:
            if (waiting := self._waiting.get(answer.head["call"])) is not None and not waiting.done():
                waiting.set_result(answer.head)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(PlatformError("The connection to the loopback platform is lost."))
