"""The platform's own data: accounts, channels, sign-ins, and its record of calls and messages.

Other people write through ``post``, ``edit`` and ``delete``; what Tidegate sends goes through the same methods.
Listeners get every change, to pass it on to connected clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from telethon.tl import types

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.faults import Faults
from tidegate.loopback.telegram.world.channels import (
    GENERAL,
    Action,
    ActionKind,
    Channel,
    Event,
    EventKind,
    Message,
    Topic,
    topic_of,
)
from tidegate.loopback.telegram.world.file_content import HOME, File, FileKind
from tidegate.loopback.telegram.world.people import SOMEBODY, OutsideChannel, Person
from tidegate.loopback.telegram.world.pictures import photo_sizes
from tidegate.loopback.telegram.world.private_chats import SAVED, PrivateChats
from tidegate.loopback.telegram.world.record import Record


@dataclass(slots=True)
class Account:
    """A person with a phone number. *gated* is what the last gate answered for a channel: its pts and top message."""

    id: int
    phone: str
    name: str
    password: str = ""
    premium: bool = False
    code: str = ""
    codes_sent: int = 0
    gated: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class SignIn:
    """A key a client made, and the account it is signed in to; 0 while it is none."""

    secret: bytes
    centre: int = HOME  # other data centres do not know it
    account: int = 0
    half: int = 0  # the account whose password is still owed


@dataclass(slots=True)
class Limits:
    """The platform's limits; tests lower them to reach them with little data."""

    parts: int = 4000  # of one upload
    parts_premium: int = 8000  # of one upload of a premium account
    page: int = 100  # messages or topics of one answer
    gate_peers: int = 100
    emoji: int = 200


class World:
    """One platform's data; *seed* makes ids, hashes and codes the same each time."""

    def __init__(self, clock: Clock, *, seed: int = 0) -> None:
        self.clock = clock
        self.seed = seed
        self.accounts: dict[int, Account] = {}
        self.people: dict[int, Person] = {SOMEBODY: Person(SOMEBODY, "Somebody")}
        self.outside: dict[int, OutsideChannel] = {}
        self.channels: dict[int, Channel] = {}
        self.chats = PrivateChats()
        self.files: dict[int, File] = {}
        self.sign_ins: dict[int, SignIn] = {}
        self.sent: dict[tuple[int, int], int] = {}  # (account, random id): the message it became
        self.parts: dict[tuple[int, int], dict[int, bytes]] = {}  # (account, upload): its parts
        self.limits = Limits()
        self.faults = Faults()
        self.record = Record()
        self.revision = 0  # rises with every change, so that changes are saved
        self.asker: SignIn | None = None  # gets its update in the answer, so it is not pushed
        self.listeners: list[Callable[[Channel, Event], None]] = []
        self.watchers: list[Callable[[Channel], bool]] = []  # whether a client that sees the channel is connected

    def token(self, *of: object) -> int:
        """A 64-bit number derived from the seed and these values."""
        text = "/".join(str(part) for part in (self.seed, *of))
        return int.from_bytes(sha256(text.encode()).digest()[:8], "little", signed=True)

    def add_account(self, phone: str, name: str = "", *, password: str = "", premium: bool = False) -> Account:
        number = 1_000_001 + len(self.accounts)
        account = Account(number, digits(phone), name or f"Reader {len(self.accounts) + 1}", password, premium)
        self.accounts[number] = account
        return account

    def account_by_phone(self, phone: str) -> Account | None:
        return next((account for account in self.accounts.values() if account.phone == digits(phone)), None)

    def add_person(self, first_name: str, last_name: str = "", **otherwise: Any) -> Person:
        """A user without an account here; *otherwise* are fields of ``Person``."""
        number = next(number for number in range(SOMEBODY, SOMEBODY + 2 + len(self.people)) if self._is_free(number))
        self.people[number] = Person(number, first_name, last_name, **otherwise)
        return self.people[number]

    def meet(self, number: int) -> None:
        """Make this user known when nobody has the id yet."""
        if self._is_free(number):
            self.people[number] = Person(number, f"Person {number}")

    def person(self, named: int | str) -> Person:
        """A person by id, name or username; BadInput when there is none."""
        found = next((person for person in self.people.values() if person.is_named(named)), None)
        if found is None:
            raise BadInput(f"The loopback Telegram has no person {named}.")
        return found

    def _is_free(self, number: int) -> bool:
        return number not in self.people and number not in self.accounts

    def add_channel(
        self, title: str, *, forum: bool = False, broadcast: bool = False, date: datetime | None = None
    ) -> Channel:
        """A new channel that every account the world has by now can read and write to."""
        channel = Channel(1_500_000_001 + len(self.channels), title, date or self.clock.now(), forum, broadcast)
        channel.members = set(self.accounts)
        self.channels[channel.id] = channel
        if forum:
            channel.topics[GENERAL] = Topic(GENERAL, "General", channel.date)
        self._append(channel, Message(1, channel.date, action=Action(ActionKind.CHANNEL_CREATED, title)))
        return channel

    # Private chats and small groups

    def add_private_chat(self, account: Account, other: Account | Person, *, date: datetime | None = None) -> Channel:
        """A chat of two; where the other has an account here too, it has a view of its own. Returns the first's."""
        talk, now = self.chats.new_talk(), date or self.clock.now()
        if other is account:
            return self.chats.open(account.id, account.id, SAVED, now, talk=talk)
        view = self.chats.open(account.id, other.id, other.name, now, talk=talk)
        if isinstance(other, Account):
            self.chats.open(other.id, account.id, account.name, now, talk=talk)
        return view

    def add_group(self, title: str, accounts: Sequence[Account], *, date: datetime | None = None) -> list[Channel]:
        """A small group; the view of each account."""
        talk, number, now = self.chats.new_talk(), self.chats.new_group(), date or self.clock.now()
        views = [self.chats.open(one.id, number, title, now, talk=talk, basic=True) for one in accounts]
        made = types.MessageActionChatCreate(title, [one.id for one in accounts])
        self.post(views[0], date=now, fields={"action": made})
        return views

    def migrate(self, view: Channel) -> Channel:
        """A small group becomes a large one, which is a new channel; the old messages stay where they are."""
        views = [view, *self.chats.twins(view)]
        made = self.add_channel(view.title)
        made.members = {one.owner for one in views}
        self.post(made, fields={"action": types.MessageActionChannelMigrateFrom(view.title, view.peer_id)})
        self.post(view, fields={"action": types.MessageActionChatMigrateTo(made.id)})
        for one in views:
            one.moved_to = made.id
        return made

    def channel(self, named: int | str) -> Channel:
        """A channel by its id, in any of the usual forms, or by its title; BadInput when there is none.

        An account's view of a private chat or small group is PHONE/TITLE.
        """
        text = str(named)
        for view in self.chats.views.values():
            if text.removeprefix("+") == f"{self.accounts[view.owner].phone}/{view.title}":
                return view
        for channel in self.channels.values():
            if text in (channel.title, str(channel.id), f"-100{channel.id}"):
                return channel
        raise BadInput(f"The loopback Telegram has no channel {named}.")

    def add_file(self, name: str, size: int, **otherwise: object) -> File:
        """A file of *size* computed bytes; *otherwise* are fields of ``File``."""
        file = File(**{"id": self.free_file_id(), "name": name, "size": size, **otherwise})  # type: ignore[arg-type]
        self.files[file.id] = file
        return file

    def free_file_id(self) -> int:
        number = 5_000_000_001 + len(self.files)
        while number in self.files:
            number += 1
        return number

    def add_content(self, name: str, content: bytes, **otherwise: object) -> File:
        """A file with exactly these bytes."""
        return self.add_file(name, len(content), pieces={0: content}, **otherwise)

    def add_photo(self, name: str) -> File:
        """A real picture in three sizes, the same for the same name."""
        sizes = photo_sizes(name)
        largest = sizes.pop("y")
        return self.add_content(name, largest, kind=FileKind.PHOTO, mime="image/png", smaller=sizes)

    def add_topic(self, channel: Channel, title: str, *, date: datetime | None = None) -> Topic:
        """A user opens a topic; its id is that of the service message about it."""
        message = self._append(
            channel,
            Message(0, date or self.clock.now(), action=Action(ActionKind.TOPIC_CREATED, title)),
        )
        channel.topics[message.id] = Topic(message.id, title, message.date)
        return channel.topics[message.id]

    def post(
        self,
        channel: Channel,
        text: str = "",
        *,
        file: File | None = None,
        topic: int = 0,
        reply_to: int = 0,
        sender: int = 0,
        date: datetime | None = None,
        album: int = 0,
        fields: Mapping[str, Any] | None = None,
        number: int = 0,
        edited_at: datetime | None = None,
    ) -> Message:
        """A new message in *channel*; in a forum without a *topic* it is in General.

        *fields* are further fields as the schema names them; a *number* has to be above those given so far.
        """
        if topic and (topic not in channel.topics or channel.topics[topic].deleted):
            raise BadInput(f"{channel.title} has no topic {topic}.")
        newest = self.chats.box(channel.owner).newest_id if channel.owner else channel.newest_id
        if number and number <= newest:
            raise BadInput(f"{channel.title} gave the id {number} already; the next is {newest + 1}.")
        message = Message(number, date or self.clock.now(), text, topic, reply_to, sender, file, album=album)
        message.fields, message.edited_at = dict(fields or {}), edited_at
        if channel.owner and isinstance(author := message.fields.pop("from_id", None), types.PeerUser):
            message.sender = author.user_id
        self._append(channel, message)
        if channel.owner:
            for twin in self.chats.twins(channel):
                self._append(twin, self.chats.copy_for(twin, channel, message))
        if isinstance(action := message.fields.get("action"), types.MessageActionTopicCreate):
            channel.topics[message.id] = Topic(message.id, action.title, message.date)
        return message

    def edit(
        self,
        channel: Channel,
        number: int,
        *,
        text: str | None = None,
        file: File | None = None,
        fields: Mapping[str, Any] | None = None,
        hidden: bool = False,
    ) -> Message:
        """Change a message's text, its file or other fields. A new text has only the formatting that comes with it.

        *hidden* is what the platform itself does: the message changes, and is not shown as edited. A person's edit that
        changes nothing is none: Telegram answers it with MESSAGE_NOT_MODIFIED, and nobody is told.
        """
        message = self.message(channel, number)
        if not hidden and file is None and not message.differs(text, fields or {}):
            return message
        for twin, copy in self.chats.copies(channel, message)[1:]:
            self._edit(twin, copy, text=text, file=file, fields=fields, hidden=hidden)
        return self._edit(channel, number, text=text, file=file, fields=fields, hidden=hidden)

    def _edit(
        self,
        channel: Channel,
        number: int,
        *,
        text: str | None,
        file: File | None,
        fields: Mapping[str, Any] | None,
        hidden: bool,
    ) -> Message:
        message = self.message(channel, number)
        if text is not None:
            message.text = text
            message.fields.pop("entities", None)
        if file:
            message.file = file
            message.fields.pop("media", None)
        if fields and "media" in fields:
            message.file = None
        hide = (hidden and not message.was_edited) or bool(fields and fields.get("edit_hide"))
        message.fields |= fields or {}
        if not message.is_service:  # one of those has no edit date
            message.mark("edit_hide", on=hide)
            message.edited_at = self.clock.now()
        self.tell(channel, self.note(channel, EventKind.EDITED, (number,)))
        return message

    def pin(self, channel: Channel, number: int, *, pinned: bool = True, silent: bool = False) -> Message | None:
        """Pin a message, which a service message says, or unpin it, which none does; the service message."""
        message = self.message(channel, number)
        for view, copy in self.chats.copies(channel, message) or [(channel, number)]:
            view.messages[copy].mark("pinned", on=pinned)
            self.tell(view, self.note(view, EventKind.PINNED if pinned else EventKind.UNPINNED, (copy,)))
        if not pinned:
            return None
        said: dict[str, Any] = {"action": types.MessageActionPinMessage()}
        return self.post(
            channel, topic=message.topic, reply_to=number, fields=said | ({"silent": True} if silent else {})
        )

    def delete(self, channel: Channel, numbers: Iterable[int]) -> None:
        """Delete messages, all in one event as a client that selects them does; of a private chat for everybody."""
        found = [self.message(channel, number) for number in numbers]
        for twin in self.chats.twins(channel) if channel.owner else ():
            self._delete(twin, [one.copies[twin.id] for one in found if one.copies.get(twin.id) in twin.messages])
        self._delete(channel, [one.id for one in found])

    def _delete(self, channel: Channel, numbers: Sequence[int]) -> None:
        for number in numbers:
            del channel.messages[number]
        if numbers:
            self.tell(channel, self.note(channel, EventKind.DELETED, tuple(numbers)))

    def rename_topic(self, channel: Channel, topic: int, title: str) -> None:
        found = self._topic(channel, topic)
        found.title = title
        self._service(channel, topic, Action(ActionKind.TOPIC_EDITED, title))

    def close_topic(self, channel: Channel, topic: int, *, closed: bool = True) -> None:
        self._topic(channel, topic).closed = closed
        self._service(channel, topic, Action(ActionKind.TOPIC_EDITED, closed=closed))

    def delete_topic(self, channel: Channel, topic: int) -> None:
        """Delete a topic and all its messages; lists then show a row with its id only."""
        found = self._topic(channel, topic)
        found.top = channel.tops().get(topic, found.id)
        found.deleted = True
        self.delete(channel, [number for number, message in channel.messages.items() if topic_of(message) == topic])

    def forget_events(self, channel: Channel, below: int | None = None) -> None:
        """From now on a difference that starts below this pts is too long; without a number, any but the newest."""
        channel.oldest_pts = channel.pts if below is None else below

    def _service(self, channel: Channel, topic: int, action: Action) -> None:
        self._append(channel, Message(0, self.clock.now(), topic=topic if topic != GENERAL else 0, action=action))

    def _append(self, channel: Channel, message: Message) -> Message:
        if channel.owner:
            box = self.chats.box(channel.owner)
            box.newest_id = message.id = message.id or box.newest_id + 1
            message.copies[channel.id] = message.id
        channel.newest_id = message.id = message.id or channel.newest_id + 1
        channel.messages[message.id] = message
        if message.file and not message.file.home:
            message.file.home = channel.id
        self.tell(channel, self.note(channel, EventKind.NEW, (message.id,)))
        return message

    def note(self, channel: Channel, kind: EventKind, messages: tuple[int, ...]) -> Event:
        """Log an event of a channel; those of a private chat are in the box of its account."""
        if channel.owner:
            return self.chats.box(channel.owner).note(channel.id, kind, messages)
        return channel.note(kind, messages)

    def message(self, channel: Channel, number: int) -> Message:
        """A message by its id; BadInput when it is not there."""
        if number not in channel.messages:
            raise BadInput(f"{channel.title} has no message {number}.")
        return channel.messages[number]

    def _topic(self, channel: Channel, topic: int) -> Topic:
        if topic not in channel.topics:
            raise BadInput(f"{channel.title} has no topic {topic}.")
        return channel.topics[topic]

    def is_watched(self, channel: Channel) -> bool:
        """Whether a client is connected that sees this channel."""
        return any(watches(channel) for watches in self.watchers)

    def tell(self, channel: Channel, event: Event) -> None:
        """Let connected clients know."""
        self.revision += 1
        for listener in self.listeners:
            listener(channel, event)


def digits(phone: str) -> str:
    """A phone number without its plus, spaces and dashes."""
    return "".join(sign for sign in phone if sign.isdigit())
