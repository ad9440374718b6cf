"""A WhatsApp world: phones with their linked devices, groups with who is in them, and every message sent to them."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.faults import Faults
from tidegate.loopback.whatsapp.record import Record

PEOPLE = "s.whatsapp.net"
GROUPS = "g.us"


@dataclass(slots=True)
class Phone:
    """A number with the devices linked to it; *name* is what others see."""

    number: str
    name: str
    devices: list[int] = field(default_factory=list)
    linked: int = 0
    banned_until: datetime | None = None
    ban_code: int = 0


@dataclass(slots=True)
class Message:
    """One message to a group; *file* is the SHA-256 of its file."""

    id: str
    at: datetime
    sender: str
    kind: str
    text: str
    name: str = ""
    file: str = ""


@dataclass(slots=True)
class Group:
    """A group by the part of its address before the @; *number* is its place in the world, by which faults know it.

    Members are phone numbers; True are those who administer the group.
    """

    id: str
    number: int
    name: str
    announce: bool = False
    members: dict[str, bool] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)


@dataclass(slots=True)
class Limits:
    """How many messages a number may send within a minute, and how long the ban is for one more."""

    per_minute: int = 60
    ban_s: float = 3600


@dataclass(slots=True)
class Pairing:
    """A device that waits to be linked: its QR code, and the code for typing where one was asked for."""

    qr: str
    code: str = ""
    phone: str = ""


class World:
    """All data of this WhatsApp. Equal seeds and equal actions give equal worlds."""

    def __init__(self, clock: Clock, *, seed: int = 1) -> None:
        self.clock = clock
        self.seed = seed
        self.revision = 0
        self.phones: dict[str, Phone] = {}
        self.groups: dict[str, Group] = {}
        self.limits = Limits()
        self.faults = Faults()
        self.record = Record()
        self.pairings: list[Pairing] = []
        self._dice = random.Random(seed)  # noqa: S311 - ids of a loopback world, equal for equal seeds
        self._recent: dict[str, deque[datetime]] = {}

    # Making it

    def add_phone(self, number: str, name: str = "") -> Phone:
        digits = plain(number)
        self.phones[digits] = Phone(digits, name or f"Phone {digits[-4:]}")
        return self.phones[digits]

    def add_group(
        self, name: str, *, announce: bool = False, admins: tuple[str, ...] = (), old_style: bool = False
    ) -> Group:
        """A group with every phone in it; one of the *old_style* has an address that is no number."""
        number = f"{self._dice.randrange(10**12):012d}"
        made = f"6281{number[:9]}-15{number[:8]}" if old_style else f"120363{number}"
        group = Group(made, len(self.groups) + 1, name, announce)
        group.members = {phone: phone in {plain(admin) for admin in admins} for phone in self.phones}
        self.groups[made] = group
        self.revision += 1
        return group

    def link(self, phone: Phone) -> str:
        """Link one more device to a phone; its address."""
        phone.linked += 1
        phone.devices.append(phone.linked)
        self.revision += 1
        return f"{phone.number}:{phone.linked}@{PEOPLE}"

    # Finding in it

    def phone(self, named: str) -> Phone:
        """A phone by its number or its name."""
        for phone in self.phones.values():
            if named == phone.name or plain(named) == phone.number:
                return phone
        raise BadInput(f"The loopback WhatsApp has no phone {named}.")

    def group(self, named: int | str) -> Group:
        """A group by its name or its address, with or without @g.us."""
        wanted = str(named).removesuffix(f"@{GROUPS}")
        for group in self.groups.values():
            if wanted in (group.id, group.name):
                return group
        raise BadInput(f"The loopback WhatsApp has no group {named}.")

    def linked(self, device: str) -> Phone | None:
        """The phone a device is linked to; None when it is not, or no longer."""
        user, _, server = device.partition("@")
        number, _, index = user.partition(":")
        phone = self.phones.get(number)
        is_linked = phone is not None and server == PEOPLE and index.isdigit() and int(index) in phone.devices
        return phone if is_linked else None

    # What happens in it

    def pair(self) -> Pairing:
        """A device asks to be linked, and shows this code."""
        self.pairings.append(Pairing(qr=f"2@{self._dice.randbytes(24).hex()},loopback"))
        return self.pairings[-1]

    def ask_code(self, pairing: Pairing, phone: str) -> str:
        """A code to type into the phone, in the form WhatsApp shows it."""
        letters = "123456789ABCDEFGHJKLMNPQRSTVWXYZ"
        typed = "".join(self._dice.choice(letters) for _ in range(8))
        pairing.code, pairing.phone = f"{typed[:4]}-{typed[4:]}", plain(phone)
        return pairing.code

    def post(self, group: Group, sender: str, kind: str, text: str, *, name: str = "", file: str = "") -> Message:
        """Store a message to the group."""
        message = Message(self.new_id(), self.clock.now(), sender, kind, text, name, file)
        group.messages.append(message)
        self.revision += 1
        return message

    def new_id(self) -> str:
        """The name of the next message, as a linked device gives it."""
        return f"3EB0{self._dice.randbytes(9).hex().upper()}"

    def sends_too_fast(self, phone: Phone) -> bool:
        """Count one message of a phone; whether that was one too many within a minute."""
        now = self.clock.now()
        recent = self._recent.setdefault(phone.number, deque())
        recent.append(now)
        while recent[0] <= now - timedelta(minutes=1):
            recent.popleft()
        return len(recent) > self.limits.per_minute

    def ban(self, phone: Phone, *, code: int, seconds: float) -> None:
        phone.banned_until = self.clock.now() + timedelta(seconds=seconds)
        phone.ban_code = code
        self.revision += 1

    def unlink(self, phone: Phone) -> None:
        """Every linked device of a phone is signed out."""
        phone.devices.clear()
        self.revision += 1


def plain(number: str) -> str:
    """A phone number without what people write between its digits."""
    return "".join(sign for sign in number if sign.isdigit())
