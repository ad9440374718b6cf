"""The platform's truth: accounts, channels, sign-ins, and everything it was asked and given.

Other people write through ``post``, ``edit`` and ``delete``; what Tidegate sends goes through the same doors, so the
truth does not care who changed it. Whoever listens is told of every change, to pass it on to connected clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from tidegate.clock import Clock
from tidegate.errors import BadInput
from tidegate.loopback.faults import Faults
from tidegate.loopback.telegram.channels import (
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
from tidegate.loopback.telegram.content import HOME, File, FileKind
from tidegate.loopback.telegram.pictures import photo_sizes
from tidegate.loopback.telegram.record import Record


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
    """What the platform allows; tests lower it to try large things small."""

    parts: int = 4000
    parts_premium: int = 8000
    page: int = 100
    gate_peers: int = 100


class World:
    """One platform's truth; *seed* makes ids, hashes and codes the same each time."""

    def __init__(self, clock: Clock, *, seed: int = 0) -> None:
        self.clock = clock
        self.seed = seed
        self.accounts: dict[int, Account] = {}
        self.channels: dict[int, Channel] = {}
        self.files: dict[int, File] = {}
        self.sign_ins: dict[int, SignIn] = {}
        self.sent: dict[tuple[int, int], int] = {}  # (account, random id): the message it became
        self.parts: dict[tuple[int, int], dict[int, bytes]] = {}  # (account, upload): its parts
        self.limits = Limits()
        self.faults = Faults()
        self.record = Record()
        self.revision = 0  # rises with whatever changes, so that it can be kept
        self.asker: SignIn | None = None  # gets its news as the answer, so nobody pushes it to them
        self.listeners: list[Callable[[Channel, Event], None]] = []

    def token(self, *of: object) -> int:
        """A 64-bit number that only this world gives to exactly this."""
        text = "/".join(str(part) for part in (self.seed, *of))
        return int.from_bytes(sha256(text.encode()).digest()[:8], "little", signed=True)

    def add_account(self, phone: str, name: str = "", *, password: str = "", premium: bool = False) -> Account:
        number = 1_000_001 + len(self.accounts)
        account = Account(number, digits(phone), name or f"Reader {len(self.accounts) + 1}", password, premium)
        self.accounts[number] = account
        return account

    def account_by_phone(self, phone: str) -> Account | None:
        return next((account for account in self.accounts.values() if account.phone == digits(phone)), None)

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

    def channel(self, named: int | str) -> Channel:
        """A channel by its id, in any of the usual forms, or by its title; BadInput when there is none."""
        text = str(named)
        for channel in self.channels.values():
            if text in (channel.title, str(channel.id), f"-100{channel.id}"):
                return channel
        raise BadInput(f"The loopback Telegram has no channel {named}.")

    def add_file(self, name: str, size: int, **otherwise: object) -> File:
        """A file of *size* computed bytes; *otherwise* are fields of ``File``."""
        number = 5_000_000_001 + len(self.files)
        self.files[number] = File(number, name, size, **otherwise)  # type: ignore[arg-type]
        return self.files[number]

    def add_content(self, name: str, content: bytes, **otherwise: object) -> File:
        """A file with exactly these bytes."""
        return self.add_file(name, len(content), pieces={0: content}, **otherwise)

    def add_photo(self, name: str) -> File:
        """A real picture in three sizes, the same for the same name."""
        sizes = photo_sizes(name)
        largest = sizes.pop("y")
        return self.add_content(name, largest, kind=FileKind.PHOTO, mime="image/png", smaller=sizes)

    def add_topic(self, channel: Channel, title: str, *, date: datetime | None = None) -> Topic:
        """Somebody opens a topic; its id is that of the service message which tells it."""
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
    ) -> Message:
        """A new message in *channel*; in a forum without a *topic* it is in General."""
        if topic and (topic not in channel.topics or channel.topics[topic].deleted):
            raise BadInput(f"{channel.title} has no topic {topic}.")
        when = date or self.clock.now()
        return self._append(
            channel,
            Message(0, when, text, topic, reply_to=reply_to, sender=sender, file=file, album=album),
        )

    def edit(self, channel: Channel, number: int, *, text: str | None = None, file: File | None = None) -> Message:
        """Change a message's text, its file or both."""
        message = self._message(channel, number)
        message.text = message.text if text is None else text
        message.file = file or message.file
        message.edited_at = self.clock.now()
        self._tell(channel, channel.note(EventKind.EDITED, (number,)))
        return message

    def delete(self, channel: Channel, numbers: Iterable[int]) -> None:
        """Delete messages, all in one event as a client that selects them does."""
        gone = tuple(self._message(channel, number).id for number in numbers)
        for number in gone:
            del channel.messages[number]
        if gone:
            self._tell(channel, channel.note(EventKind.DELETED, gone))

    def rename_topic(self, channel: Channel, topic: int, title: str) -> None:
        found = self._topic(channel, topic)
        found.title = title
        self._service(channel, topic, Action(ActionKind.TOPIC_EDITED, title))

    def close_topic(self, channel: Channel, topic: int, *, closed: bool = True) -> None:
        self._topic(channel, topic).closed = closed
        self._service(channel, topic, Action(ActionKind.TOPIC_EDITED, closed=closed))

    def delete_topic(self, channel: Channel, topic: int) -> None:
        """The topic and all its messages go; lists show a row with nothing but its id from then on."""
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
        channel.newest_id += 1
        message.id = channel.newest_id
        channel.messages[message.id] = message
        if message.file and not message.file.home:
            message.file.home = channel.id
        self._tell(channel, channel.note(EventKind.NEW, (message.id,)))
        return message

    def _message(self, channel: Channel, number: int) -> Message:
        if number not in channel.messages:
            raise BadInput(f"{channel.title} has no message {number}.")
        return channel.messages[number]

    def _topic(self, channel: Channel, topic: int) -> Topic:
        if topic not in channel.topics:
            raise BadInput(f"{channel.title} has no topic {topic}.")
        return channel.topics[topic]

    def _tell(self, channel: Channel, event: Event) -> None:
        self.revision += 1
        for listener in self.listeners:
            listener(channel, event)


def digits(phone: str) -> str:
    """A phone number without its plus, spaces and dashes."""
    return "".join(sign for sign in phone if sign.isdigit())
