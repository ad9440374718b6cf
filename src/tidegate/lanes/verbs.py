"""The verbs of a lane: the platform's own, each through the reading or the sending side of the road."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from tidegate.errors import AskedToWait, Banned, ChannelGone, Refused, SignedOut
from tidegate.lanes.limits import ReadLimits
from tidegate.lanes.reading import Reading
from tidegate.lanes.road import Road
from tidegate.lanes.sending import Claimed, Order, Sending
from tidegate.port import (
    ChannelId,
    ChannelPage,
    Cursor,
    Difference,
    Differs,
    FileHandle,
    FileKind,
    FilePage,
    Files,
    Forums,
    Gates,
    Head,
    Hint,
    Hints,
    Lists,
    Me,
    Message,
    MessageId,
    NamesMethods,
    Page,
    Reads,
    Recalls,
    Receipt,
    Searches,
    SendKey,
    Sends,
    SendsFiles,
    SignsOut,
    TooLong,
    Topic,
    TopicId,
    TopicPage,
    UnknownChannel,
    Upload,
)

A = TypeVar("A")
T = TypeVar("T")


class Verbs:
    """What may be asked of an account's platform. *cycle* and *run* say on the ledger what a call was for."""

    def __init__(self, road: Road, reads: ReadLimits, transfers: ReadLimits) -> None:
        client = road.client
        self._road = road
        self._reading = Reading(road, reads)
        self._transferring = Reading(road, transfers)
        self._sending = Sending(road)
        self._names = client if isinstance(client, NamesMethods) else None
        self._gates = client if isinstance(client, Gates) else None
        self._reads = client if isinstance(client, Reads) else None
        self._lists = client if isinstance(client, Lists) else None
        self._signs_out = client if isinstance(client, SignsOut) else None
        self._forums = client if isinstance(client, Forums) else None
        self._differs = client if isinstance(client, Differs) else None
        self._searches = client if isinstance(client, Searches) else None
        self._recalls = client if isinstance(client, Recalls) else None
        self._files = client if isinstance(client, Files) else None
        self._sends = client if isinstance(client, Sends) else None
        self._sends_files = client if isinstance(client, SendsFiles) else None
        self._hints = client if isinstance(client, Hints) else None

    # Which channels there are, and which of them changed

    async def channels(self, after: Cursor | None = None, *, cycle: int | None = None) -> ChannelPage:
        """Some of the channels the account can see, from the beginning or from where the last page ended."""
        client = self._able(self._lists, "list its channels")
        return await self._read("channels", None, cycle, lambda: client.channels(after))

    async def me(self, *, cycle: int | None = None) -> Me:
        """Who the account is on its platform."""
        client = self._able(self._lists, "say who it is")
        return await self._read("me", None, cycle, client.me)

    async def sign_out(self) -> None:
        """End the account's sign-in at its platform; no call is possible afterwards."""
        client = self._able(self._signs_out, "be signed out from here")
        await self._read("sign_out", None, None, client.sign_out)

    async def heads(self, channels: Sequence[ChannelId], *, cycle: int | None = None) -> Mapping[ChannelId, Head]:
        """For many channels at once: the newest message and the platform's counter of changes.

        A platform may refuse the whole question for one channel that is gone. The halves are then asked apart until
        that one is alone, so that it does not hide the others; it is missing from the answer, and so unknown.
        """
        client = self._able(self._gates, "say for many channels at once whether anything changed")
        try:
            return await self._read("heads", None, cycle, lambda: client.heads(channels))
        except ChannelGone as gone:
            if len(channels) < 2 or isinstance(gone, UnknownChannel):
                return {}
        half = len(channels) // 2
        first = await self.heads(channels[:half], cycle=cycle)
        return {**first, **await self.heads(channels[half:], cycle=cycle)}

    async def topics(self, channel: ChannelId, after: Cursor | None = None, *, cycle: int | None = None) -> TopicPage:
        """Some topics of a forum, from the beginning or from where the last page ended."""
        client = self._able(self._forums, "list topics")
        return await self._read("topics", channel, cycle, lambda: client.topics(channel, after))

    async def topics_by_id(
        self, channel: ChannelId, topics: Sequence[TopicId], *, cycle: int | None = None
    ) -> Mapping[TopicId, Topic]:
        """Up to 100 known topics; one that was deleted is marked as gone."""
        client = self._able(self._forums, "look up topics")
        return await self._read("topics_by_id", channel, cycle, lambda: client.topics_by_id(channel, topics))

    async def hint(self) -> Hint:
        """Wait for the platform to say by itself that something changed; this is no call."""
        client = self._able(self._hints, "tell when something changes")
        self._road.require_open()
        try:
            return await client.hint()
        except (SignedOut, Banned) as stop:
            await self._road.heed_stop(stop)
            raise

    # What is in a channel

    async def page(self, channel: ChannelId, *, before: MessageId | None, cycle: int | None = None) -> Page:
        """One page of a channel's history, newest first, below *before* when it is given."""
        client = self._able(self._reads, "page through a channel's history")
        return await self._read("page", channel, cycle, lambda: client.page(channel, before=before))

    async def difference(self, channel: ChannelId, *, since: int, cycle: int | None = None) -> Difference | TooLong:
        """What changed since a value of the channel's counter, or that it is too much to tell."""
        client = self._able(self._differs, "tell what changed since")
        return await self._read("difference", channel, cycle, lambda: client.difference(channel, since=since))

    async def files(
        self,
        channel: ChannelId,
        *,
        kind: FileKind = FileKind.DOCUMENT,
        before: MessageId | None = None,
        above: MessageId | None = None,
        topic: TopicId | None = None,
        cycle: int | None = None,
    ) -> FilePage:
        """One page of a search for files, in the whole channel or in one topic of it."""
        client = self._able(self._searches, "search for files")
        return await self._read(
            "files",
            channel,
            cycle,
            lambda: client.files(channel, kind=kind, before=before, above=above, topic=topic),
        )

    async def messages(
        self, channel: ChannelId, ids: Sequence[MessageId], *, cycle: int | None = None
    ) -> Mapping[MessageId, Message | None]:
        """Up to 100 messages by number; None for one that is gone."""
        client = self._able(self._recalls, "fetch messages by number")
        return await self._read("messages", channel, cycle, lambda: client.messages(channel, ids))

    async def read_file(self, handle: FileHandle, *, offset: int, length: int, cycle: int | None = None) -> bytes:
        """A stretch of a file; ``HandleExpired`` asks for a fresh handle and never waits."""
        client = self._able(self._files, "read files")

        def call() -> Awaitable[bytes]:
            return client.read_file(handle, offset=offset, length=length)

        return await self._transferring.read(self._method("read_file"), None, cycle, call)

    # What is sent

    async def send(
        self,
        channel: ChannelId,
        text: str,
        *,
        key: SendKey,
        run: int | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post a text as soon as the pace allows.

        *claimed* makes the caller's own change of state in the transaction that charges the pace. When it returns
        False the transaction is rolled back, nothing is charged and ``NotSent`` is raised.
        """
        client = self._able(self._sends, "post a text")
        return await self._send("send", channel, run, claimed, lambda: client.send(channel, text, key=key))

    async def save_part(self, upload: Upload, part: int, content: bytes, *, cycle: int | None = None) -> None:
        """Hand over one part of a file; harmless to repeat, so it is no send and charges no pace."""
        client = self._able(self._sends_files, "take files")
        method = self._method("save_big_part" if upload.big else "save_part")
        await self._transferring.read(method, None, cycle, lambda: client.save_part(upload, part, content))

    async def send_file(
        self,
        channel: ChannelId,
        upload: Upload,
        *,
        key: SendKey,
        caption: str = "",
        topic: TopicId | None = None,
        run: int | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post a file whose parts are all handed over, as soon as the pace allows; *claimed* as in ``send``."""
        client = self._able(self._sends_files, "post files")

        def call() -> Awaitable[Receipt]:
            return client.send_file(channel, upload, caption=caption, topic=topic, key=key)

        return await self._send("send_file", channel, run, claimed, call)

    async def copy_file(
        self,
        channel: ChannelId,
        handle: FileHandle,
        *,
        key: SendKey,
        caption: str = "",
        topic: TopicId | None = None,
        run: int | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post a file the platform already has, without moving a byte; *claimed* as in ``send``."""
        client = self._able(self._sends_files, "copy files")

        def call() -> Awaitable[Receipt]:
            return client.copy_file(channel, handle, caption=caption, topic=topic, key=key)

        return await self._send("copy_file", channel, run, claimed, call)

    # How they are made

    async def _read(
        self, verb: str, channel: ChannelId | None, cycle: int | None, call: Callable[[], Awaitable[T]]
    ) -> T:
        return await self._reading.read(self._method(verb), channel, cycle, call)

    async def _send(
        self,
        verb: str,
        channel: ChannelId,
        run: int | None,
        claimed: Claimed | None,
        call: Callable[[], Awaitable[Receipt]],
    ) -> Receipt:
        order = Order(self._method(verb), channel, run, claimed)
        try:
            return await self._sending.send(order, call)
        except AskedToWait as asked:
            await self._road.heed_wait(asked, order.method, channel)
            raise
        except (SignedOut, Banned) as stop:
            await self._road.heed_stop(stop)
            raise

    def _method(self, verb: str) -> str:
        """The platform's name of the call where the client knows it, so that both count the same thing."""
        return verb if self._names is None else self._names.method(verb)

    def _able(self, ability: A | None, what: str) -> A:
        if ability is None:
            raise Refused(f"A {self._road.account.platform.brand} account cannot {what}.")
        return ability
