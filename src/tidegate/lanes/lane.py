"""A lane: one account's client for its platform, and the only way to call it (calls-through-a-lane)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from tidegate.core.errors import Banned, ChannelGone, LongWait, PlatformError, Refused, SignedOut
from tidegate.core.ids import ChannelId, CycleNumber, FileId, GuildId, MessageId, RunId, TopicId, UserId
from tidegate.lanes.call_gate import CallGate
from tidegate.lanes.call_limits import TRANSFERS, ReadLimits
from tidegate.lanes.reads import PacedReads, ReadLoad
from tidegate.lanes.sends import Claimed, FailurePause, PacedSends
from tidegate.platforms import interface
from tidegate.platforms.interface import Cursor, FileHandle, FileStep, Head, Receipt, SendKey, Upload, uploads
from tidegate.platforms.interface.capabilities import ability_of

A = TypeVar("A")

_ANY_DOCUMENT = interface.FileSearch()
_MOST_STEPS = 16
"""How many calls for one range of a file may lead on to others."""


class Lane:
    """The platform's verbs for one account. Each call is rate limited, paused when required, and logged.

    A read is repeated here while that can help. A send is made once: the error says whether it was handed over.
    ``NotOurs`` means that this worker may not call now; the lane can be used again when the claim is renewed.
    ``claim()`` goes with every write of data that was read through this lane.

    *cycle* and *run* record in the call log what a call was for. A verb that the platform lacks raises ``Refused``.
    """

    def __init__(self, gate: CallGate, *, reads: ReadLimits, transfers: ReadLimits = TRANSFERS) -> None:
        self.gate = gate
        self.account = gate.account
        self.claim = gate.claim
        self._reads = PacedReads(gate, reads)
        self._transfers = PacedReads(gate, transfers)
        self._sends = PacedSends(gate)
        self._known: dict[type[Any], Any] = {}

    # State

    @property
    def failure_pause(self) -> FailurePause | None:
        """Why and for how long no send is made after several failures in a row; None while sends are made."""
        return self._sends.failure_pause

    @property
    def read_load(self) -> ReadLoad:
        """How many reads wait and how many are in flight, other than those of files' bytes."""
        return self._reads.load

    def read_load_change(self) -> asyncio.Future[None]:
        """Done as soon as ``read_load`` changes; never cancel it, because several callers share it."""
        return self._reads.change()

    async def write_ledger(self) -> None:
        """Write every call made so far to the call log, before its sums are read."""
        await self.gate.call_log.flush()

    async def close(self) -> None:
        """Start no further call and disconnect; calls that still wait get ``NotOurs`` at once."""
        await self.gate.close()

    # What the platform can do

    @property
    def searches_files(self) -> bool:
        """Whether the platform can search a channel for files."""
        return self._has(interface.Searches)

    @property
    def has_guilds(self) -> bool:
        """Whether the account's channels live in guilds, so that ``survey`` lists them all."""
        return self._has(interface.Guilds)

    @property
    def reads_up(self) -> bool:
        """Whether history can be read upwards from a message."""
        return self._has(interface.ReadsUp)

    @property
    def removes_duplicates(self) -> bool:
        """Whether the platform recognises a repeated send by its key, so that a send in doubt may be repeated."""
        return self._has(uploads.RemovesDuplicates)

    @property
    def recognises_for(self) -> timedelta | None:
        """For how long the platform recognises a repeated send; None for always."""
        client = self._find(uploads.RemovesDuplicates)
        return None if client is None else client.recognises_for

    @property
    def own_chat(self) -> ChannelId | None:
        """The chat of the account with itself; None where its platform has no such chat."""
        client = self._find(uploads.HasOwnChat)
        return None if client is None else client.own_chat

    @property
    def encloses(self) -> bool:
        """Whether files are sent inside each message (``send_with``), because the platform keeps no uploads."""
        return self._has(interface.Encloses)

    @property
    def takes_upload_parts(self) -> bool:
        """Whether a file is uploaded in parts (``save_part``) and then registered; otherwise it takes one call."""
        return self._has(uploads.TakesUploadParts)

    @property
    def media_lasts(self) -> timedelta | None:
        """How long an uploaded file may be posted; None for as long as the platform accepts it."""
        client = self._find(uploads.PostsMedia)
        return None if client is None else client.media_lasts

    @property
    def acknowledges(self) -> bool:
        """Whether the platform reports later that messages have arrived."""
        return self._has(uploads.Acknowledges)

    # The account, and the channels it can see

    async def me(self, *, cycle: CycleNumber | None = None) -> interface.Me:
        """Who the account is on its platform."""
        client = self._require(interface.Lists, "say who it is")
        return await self._reads.read("me", None, cycle, client.me)

    async def sign_out(self) -> None:
        """End the account's sign-in at its platform; no call is possible afterwards."""
        client = self._require(interface.SignsOut, "be signed out from here")
        await self._reads.read("sign_out", None, None, client.sign_out)

    async def channels(self, after: Cursor | None = None, *, cycle: CycleNumber | None = None) -> interface.ChannelPage:
        """Some of the channels the account can see, from the beginning or from where the last page ended."""
        client = self._require(interface.Lists, "list its channels")
        return await self._reads.read("channels", None, cycle, lambda: client.channels(after))

    async def heads(
        self, channels: Sequence[ChannelId], *, cycle: CycleNumber | None = None
    ) -> Mapping[ChannelId, Head]:
        """For many channels at once: the newest message and the platform's change counter.

        A platform with guilds answers for all its channels at once, so request all you need together.

        Others may refuse the whole request because of one lost channel. The request is then halved until that channel
        is alone, so that it does not hide the others. The lost channel is missing from the answer, and so unknown.
        """
        if self.has_guilds:
            wanted = set(channels)
            return {number: head for number, head in (await self.survey(cycle=cycle)).items() if number in wanted}
        client = self._require(interface.Gates, "say for many channels at once whether anything changed")
        try:
            return await self._reads.read("heads", None, cycle, lambda: client.heads(channels))
        except ChannelGone as gone:
            if len(channels) < 2 or isinstance(gone, interface.UnknownChannel):
                return {}
        half = len(channels) // 2
        first = await self.heads(channels[:half], cycle=cycle)
        return {**first, **await self.heads(channels[half:], cycle=cycle)}

    async def topics(
        self, channel: ChannelId, after: Cursor | None = None, *, cycle: CycleNumber | None = None
    ) -> interface.TopicPage:
        """Some topics of a forum, from the beginning or from where the last page ended."""
        client = self._require(interface.Forums, "list topics")
        return await self._reads.read("topics", channel, cycle, lambda: client.topics(channel, after))

    async def topics_by_id(
        self, channel: ChannelId, topics: Sequence[TopicId], *, cycle: CycleNumber | None = None
    ) -> Mapping[TopicId, interface.Topic]:
        """Up to 100 known topics; one that was deleted is marked as gone."""
        client = self._require(interface.Forums, "look up topics")
        return await self._reads.read("topics_by_id", channel, cycle, lambda: client.topics_by_id(channel, topics))

    # Guilds

    def known_heads(self) -> Mapping[ChannelId, Head] | None:
        """Every channel's head as push updates reported it, without a call; None while that may be out of date."""
        self.gate.require_open()
        client = self._find(interface.KnowsHeads)
        return None if client is None else client.known_heads()

    async def survey(self, *, cycle: CycleNumber | None = None) -> Mapping[ChannelId, Head]:
        """Every channel and active thread the account sees, with its head.

        No call is needed where push updates reported it, otherwise two per guild. A guild that removed the account is
        missing from the answer. So is one that is rate limited for long, unless it is the only one.
        """
        if (known := self.known_heads()) is not None:
            return known
        client = self._require(interface.Guilds, "list guilds")
        heads: dict[ChannelId, Head] = {}
        parked: LongWait | None = None
        for guild in client.known_guilds():
            try:
                # Both or neither: channels without their threads would mean that all threads are archived.
                found = {**await self.guild_channels(guild, cycle=cycle)}
                heads |= {**found, **await self.guild_threads(guild, cycle=cycle)}
            except ChannelGone:
                continue
            except LongWait as wait:
                parked = wait
        if parked is not None and not heads:
            raise parked
        return heads

    async def chat_head(self, channel: ChannelId, *, cycle: CycleNumber | None = None) -> Head | None:
        """The head of a private chat that no list has; None, without a call, where lists have them all."""
        client = self._find(interface.FindsChats)
        if client is None:
            return None
        return await self._reads.read("chat_head", channel, cycle, lambda: client.chat_head(channel))

    async def open_chat(self, person: UserId) -> tuple[ChannelId, Head]:
        """The private chat with a person, which no list has, and its head."""
        client = self._require(interface.FindsChats, "open a private chat by a person's number; it lists them all")
        return await self._reads.read("open_chat", None, None, lambda: client.open_chat(person))

    async def guilds(self, after: Cursor | None = None, *, cycle: CycleNumber | None = None) -> interface.GuildPage:
        """Some of the guilds the account is in."""
        client = self._require(interface.Guilds, "list guilds")
        return await self._reads.read("guilds", None, cycle, lambda: client.guilds(after))

    async def guild_channels(self, guild: GuildId, *, cycle: CycleNumber | None = None) -> Mapping[ChannelId, Head]:
        """All channels of a guild with their heads, without threads."""
        client = self._require(interface.Guilds, "list a guild's channels")
        return await self._reads.read("guild_channels", ChannelId(guild), cycle, lambda: client.guild_channels(guild))

    async def guild_threads(self, guild: GuildId, *, cycle: CycleNumber | None = None) -> Mapping[ChannelId, Head]:
        """All active threads of a guild with their heads."""
        client = self._require(interface.Guilds, "list a guild's threads")
        return await self._reads.read("guild_threads", ChannelId(guild), cycle, lambda: client.guild_threads(guild))

    async def archived_threads(
        self,
        parent: ChannelId,
        *,
        private: bool = False,
        after: Cursor | None = None,
        cycle: CycleNumber | None = None,
    ) -> interface.ChannelPage:
        """Some archived threads of a channel, the last archived first; one may appear on two adjacent pages."""
        client = self._require(interface.Guilds, "list archived threads")
        verb = "archived_private_threads" if private else "archived_threads"
        return await self._reads.read(
            verb, parent, cycle, lambda: client.archived_threads(parent, private=private, after=after)
        )

    # Messages and files

    async def page(
        self, channel: ChannelId, *, before: MessageId | None, cycle: CycleNumber | None = None
    ) -> interface.HistoryPage:
        """One page of a channel's history, newest first, below *before* when it is given."""
        client = self._require(interface.Reads, "page through a channel's history")
        return await self._reads.read("page", channel, cycle, lambda: client.page(channel, before=before))

    async def page_after(
        self, channel: ChannelId, *, after: MessageId, cycle: CycleNumber | None = None
    ) -> interface.HistoryPage:
        """The messages nearest above *after*; newest first, as on every page."""
        client = self._require(interface.ReadsUp, "read a channel's history upwards")
        return await self._reads.read("page_after", channel, cycle, lambda: client.page_after(channel, after=after))

    async def difference(
        self, channel: ChannelId, *, since: int, cycle: CycleNumber | None = None
    ) -> interface.Difference | interface.TooLong:
        """What changed since a value of the channel's change counter, or that it is too much to list."""
        client = self._require(interface.Differs, "tell what changed since")
        return await self._reads.read("difference", channel, cycle, lambda: client.difference(channel, since=since))

    def known_box(self) -> int | None:
        """The counter of the account's message box as push updates reported it, without a call; None if unknown."""
        client = self._find(interface.HasBox)
        return None if client is None else client.known_box()

    async def box_state(self, *, cycle: CycleNumber | None = None) -> interface.BoxState:
        """The current counters of the message box that the account's private chats share."""
        client = self._require(interface.HasBox, "follow private chats")
        return await self._reads.read("box_state", None, cycle, client.box_state)

    async def box_difference(
        self, since: interface.BoxState, *, cycle: CycleNumber | None = None
    ) -> interface.BoxDifference | interface.BoxTooLong:
        """What changed in the account's message box since a state, or that it is too much to list."""
        client = self._require(interface.HasBox, "follow private chats")
        return await self._reads.read("box_difference", None, cycle, lambda: client.box_difference(since))

    async def files(
        self, channel: ChannelId, search: interface.FileSearch = _ANY_DOCUMENT, *, cycle: CycleNumber | None = None
    ) -> interface.FilePage:
        """One page of a search for files."""
        client = self._require(interface.Searches, "search for files")
        return await self._reads.read("files", channel, cycle, lambda: client.files(channel, search))

    async def messages(
        self,
        channel: ChannelId,
        ids: Sequence[MessageId],
        *,
        cycle: CycleNumber | None = None,
        background: bool = False,
    ) -> Mapping[MessageId, interface.Message | None]:
        """Up to 100 messages by number; None for one that was deleted. In the *background* it delays no other call."""
        client = self._require(interface.Recalls, "fetch messages by number")
        verb = "chat_messages" if self._is_in_box(channel) else "messages"
        return await self._reads.read(
            verb, channel, cycle, lambda: client.messages(channel, ids), background=background
        )

    async def description(self, channel: ChannelId, *, cycle: CycleNumber | None = None) -> str | None:
        """A channel's description; None, without a call, where it comes with the channel itself or there is none."""
        client = self._find(interface.Describes)
        if client is None or self._is_in_box(channel):
            return None
        return await self._reads.read("description", channel, cycle, lambda: client.description(channel))

    async def read_file(
        self,
        handle: FileHandle,
        *,
        offset: int,
        length: int,
        cycle: CycleNumber | None = None,
        background: bool = False,
    ) -> bytes:
        """A range of a file; ``HandleExpired`` means that the caller needs a new handle; it is raised at once.

        In the *background* it delays neither archives nor uploads.
        """
        client, steps = self._require(interface.Files, "read files"), self._find(interface.ReadsInSteps)
        for _ in range(_MOST_STEPS):
            if steps is not None:
                step = steps.file_step(handle, offset=offset, length=length)
            else:
                step = FileStep("read_file", lambda: client.read_file(handle, offset=offset, length=length))
            content = await self._transfers.read(step.verb, None, cycle, step.call, background=background)
            if content is not None:
                return content
        raise PlatformError("The platform always wants another call before it gives out this file.")

    async def emoji_files(self, numbers: Sequence[FileId]) -> Mapping[FileId, interface.File]:
        """The files of up to 200 custom emoji, asked for in the background; one that was deleted is missing."""
        client = self._find(interface.NamesEmoji)
        if client is None:
            return {}
        return await self._reads.read("emoji_files", None, None, lambda: client.emoji_files(numbers), background=True)

    # Push updates: waiting for one is not a call

    async def hints(self, *, most: int) -> Sequence[interface.UpdateHint]:
        """Wait for push updates, and take up to *most* of those that have arrived."""
        client = self._require(interface.Hints, "tell when something changes")
        self.gate.require_open()
        try:
            return await client.hints(most=most)
        except (SignedOut, Banned) as stop:
            await self.gate.heed_stop(stop)
            raise

    async def next_arrival(self) -> uploads.Arrived:
        """Wait for the next receipt that a message of ours has arrived."""
        client = self._require(uploads.Acknowledges, "tell what has arrived")
        self.gate.require_open()
        try:
            return await client.next_arrival()
        except (SignedOut, Banned) as stop:
            await self.gate.heed_stop(stop)
            raise

    # Uploads: a file that is not posted yet is not a send and is not charged to the pace

    async def save_part(self, upload: Upload, part: int, content: bytes, *, cycle: CycleNumber | None = None) -> None:
        """Upload one part of a file; harmless to repeat."""
        client = self._require(interface.SendsFiles, "take files")
        verb = "save_big_part" if upload.big else "save_part"
        await self._transfers.read(verb, None, cycle, lambda: client.save_part(upload, part, content))

    async def register(self, upload: Upload, media: uploads.Media) -> uploads.MediaRef:
        """Combine uploaded parts into a file that can be posted."""
        client = self._require(uploads.TakesUploadParts, "take a file in parts")
        return await self._transfers.read("register", None, None, lambda: client.register(upload, media))

    async def upload(self, media: uploads.Media, content: bytes) -> uploads.MediaRef:
        """Upload a file in one call."""
        client = self._require(uploads.TakesWhole, "take a file in one go")
        return await self._transfers.read("upload", None, None, lambda: client.upload(media, content))

    # Sends: made once, as soon as the pace allows

    async def send(
        self,
        channel: ChannelId,
        text: str,
        *,
        key: SendKey,
        run: RunId | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post a text.

        *claimed* makes the caller's own change of state in the transaction that charges the pace. When it returns
        False, the transaction is rolled back, nothing is charged and ``NotSent`` is raised.
        """
        client = self._require(interface.Sends, "post a text")
        return await self._sends.send("send", channel, run, claimed, lambda: client.send(channel, text, key=key))

    async def send_with(
        self,
        channel: ChannelId,
        text: str,
        enclosures: Sequence[interface.Enclosure],
        *,
        key: SendKey,
        run: RunId | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post a text together with files, in one call; *claimed* as in ``send``."""
        client = self._require(interface.Encloses, "post files along with a text")
        return await self._sends.send(
            "send_with", channel, run, claimed, lambda: client.send_with(channel, text, enclosures, key=key)
        )

    async def post(
        self,
        channel: ChannelId,
        media: uploads.Media,
        ref: uploads.MediaRef,
        *,
        key: SendKey,
        caption: str = "",
        run: RunId | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post an uploaded file of the operator's; *claimed* as in ``send``."""
        client = self._require(uploads.PostsMedia, "post media")
        return await self._sends.send(
            "post", channel, run, claimed, lambda: client.post(channel, media, ref, caption=caption, key=key)
        )

    async def send_file(
        self, channel: ChannelId, upload: Upload, *, key: SendKey, claimed: Claimed | None = None
    ) -> Receipt:
        """Post a file whose parts are all uploaded; *claimed* as in ``send``."""
        client = self._require(interface.SendsFiles, "post files")
        return await self._sends.send(
            "send_file", channel, None, claimed, lambda: client.send_file(channel, upload, key=key)
        )

    async def copy_file(
        self, channel: ChannelId, handle: FileHandle, *, key: SendKey, claimed: Claimed | None = None
    ) -> Receipt:
        """Post a file the platform already has, without a transfer; *claimed* as in ``send``."""
        client = self._require(interface.SendsFiles, "copy files")
        return await self._sends.send(
            "copy_file", channel, None, claimed, lambda: client.copy_file(channel, handle, key=key)
        )

    async def names_of(self, key: SendKey) -> Collection[str]:
        """The platform's names of the messages sent with that key, as far as known; this is not a call."""
        client = self._find(uploads.NamesSends)
        if client is None:
            return ()
        self.gate.require_open()
        return await client.names_of(key)

    # The client's abilities

    def _is_in_box(self, channel: ChannelId) -> bool:
        client = self._find(interface.HasBox)
        return client is not None and client.is_in_box(channel)

    def _find(self, ability: type[A]) -> A | None:
        if ability not in self._known:  # a look-up takes longer than the rest of the lane's work
            self._known[ability] = ability_of(self.gate.client, ability)
        found: A | None = self._known[ability]
        return found

    def _has(self, ability: type[object]) -> bool:
        return self._find(ability) is not None

    def _require(self, ability: type[A], what: str) -> A:
        client = self._find(ability)
        if client is None:
            raise Refused(f"A {self.account.platform.brand} account cannot {what}.")
        return client
