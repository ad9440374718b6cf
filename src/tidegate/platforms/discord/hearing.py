"""Gateway events as hints: the book takes over what they say of channels, and whoever mirrors hears of the rest.

Discord numbers all events of a session in one sequence, so they arrive complete until a session is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tidegate.platforms.discord.book import Book, Heads
from tidegate.platforms.discord.events import hint_of, tells_of_messages
from tidegate.platforms.discord.rights import Json
from tidegate.port import ChannelId, Head, Hint, Stream


class Hearing:
    """Listens to one account's gateway. *awaited* are guilds that the new session has announced and not yet told."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.awaited: set[str] = set()
        self.session = ""
        self._certain = False

    # How certain that is

    def told(self) -> Mapping[ChannelId, Head] | None:
        return self.book.heads() if self._certain else None

    def settle(self) -> None:
        """All guilds that answer have told of themselves: what the book says is certain from now on."""
        self.awaited.clear()
        self._certain = True

    def pause(self) -> Hint:
        """The connection is lost, and with it the certainty."""
        self._certain = False
        return Hint(None, stream=Stream.PAUSED)

    def begin_anew(self) -> list[Hint]:
        """Hints were lost on our own side: the stream begins anew from where every channel stands now."""
        broken = Hint(None, stream=Stream.BROKEN)
        return [broken, Hint(None, heads=self.book.heads(), stream=Stream.BEGAN)]

    # What is heard

    def hear(self, event: str, data: Json) -> list[Hint]:
        """What an event says, in our words; most say nothing that matters here."""
        if tells_of_messages(event):
            return [*self._chat(event, data), *self._message(event, data)]
        heard = _TABLE.get(event)
        return list(heard(self, data)) if heard is not None else []

    def _message(self, event: str, data: Json) -> list[Hint]:
        hint = hint_of(event, data)
        assert hint.channel is not None
        assert hint.news is not None
        for message in hint.news.posted:
            self.book.note_posted(hint.channel, message.id)
        self.book.note_deleted(hint.channel, len(hint.news.deleted))
        return [hint]

    def _chat(self, event: str, data: Json) -> list[Hint]:
        """The first message of a person to the account makes their chat known."""
        channel = ChannelId(int(data["channel_id"]))
        if event != "MESSAGE_CREATE" or data.get("guild_id") or self.book.head(channel) is not None:
            return []
        return [Hint(channel, heads={channel: self.book.take_chat(channel, data["author"])})]

    def _ready(self, data: Json) -> list[Hint]:
        self.session = data["session_id"]
        self.awaited = {one["id"] for one in data["guilds"]}
        self._certain = False
        self.book.begin(data["user"]["id"], self.awaited)
        return [Hint(None, stream=Stream.BROKEN)]

    def _resumed(self, _: Json) -> list[Hint]:
        self._certain = not self.awaited
        return [Hint(None, stream=Stream.RESUMED)]

    def _guild(self, data: Json) -> list[Hint]:
        if data.get("unavailable"):
            return []
        self.book.forget_guild(data["id"])
        self.book.take_guild(data)
        self.awaited.discard(data["id"])
        return [Hint(None, heads=self.book.heads(data["id"]), stream=Stream.BEGAN)]

    def _guild_changed(self, data: Json) -> list[Hint]:
        return _shown(self.book.take_guild(data))

    def _guild_lost(self, data: Json) -> list[Hint]:
        """A guild that has an outage comes back; one the account was taken out of does not."""
        channels = self.book.forget_guild(data["id"])
        self.awaited.discard(data["id"])
        return [] if data.get("unavailable") else [Hint(channel, gone=True) for channel in channels]

    def _role(self, data: Json) -> list[Hint]:
        return _shown(self.book.take_role(data["guild_id"], data["role"]))

    def _role_lost(self, data: Json) -> list[Hint]:
        return _shown(self.book.lose_role(data["guild_id"], data["role_id"]))

    def _member(self, data: Json) -> list[Hint]:
        if data["user"]["id"] != self.book.me:
            return []
        return _shown(self.book.take_my_roles(data["guild_id"], data["roles"]))

    def _channel(self, data: Json) -> list[Hint]:
        if not data.get("guild_id"):
            return []
        heads = self.book.take_channels(data["guild_id"], [data])
        return [Hint(number, heads={number: head}) for number, head in heads.items()]

    def _thread_made(self, data: Json) -> list[Hint]:
        self.book.note_thread(ChannelId(int(data["id"])), data.get("parent_id"))
        return self._channel(data)

    def _channel_lost(self, data: Json) -> list[Hint]:
        return [Hint(channel, gone=True) for channel in self.book.lose_channel(ChannelId(int(data["id"])))]

    def _threads_told(self, data: Json) -> list[Hint]:
        """All active threads of channels that came in sight; a known one that is not among them may be anything."""
        guild = data["guild_id"]
        active = {ChannelId(int(one["id"])) for one in data["threads"]}
        for known in self.book.threads_of(guild, data.get("channel_ids")):
            if known not in active:
                self.book.lose_channel(known)
        heads = self.book.take_channels(guild, data["threads"])
        return [Hint(number, heads={number: head}) for number, head in heads.items()]


def _shown(heads: Heads) -> list[Hint]:
    return [Hint(None, heads=heads)] if heads else []


_TABLE: Final[Mapping[str, Callable[[Hearing, Json], Iterable[Hint]]]] = {
    "READY": Hearing._ready,
    "RESUMED": Hearing._resumed,
    "GUILD_CREATE": Hearing._guild,
    "GUILD_UPDATE": Hearing._guild_changed,
    "GUILD_DELETE": Hearing._guild_lost,
    "GUILD_ROLE_CREATE": Hearing._role,
    "GUILD_ROLE_UPDATE": Hearing._role,
    "GUILD_ROLE_DELETE": Hearing._role_lost,
    "GUILD_MEMBER_UPDATE": Hearing._member,
    "CHANNEL_CREATE": Hearing._channel,
    "CHANNEL_UPDATE": Hearing._channel,
    "CHANNEL_DELETE": Hearing._channel_lost,
    "THREAD_CREATE": Hearing._thread_made,
    "THREAD_UPDATE": Hearing._channel,
    "THREAD_DELETE": Hearing._channel_lost,
    "THREAD_LIST_SYNC": Hearing._threads_told,
}
