"""The platform's own record of the calls and messages it received; tests compare it with ours."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.loopback.call_record import AcceptedMessage, Connected, PlatformRecord, RecordedCall


@dataclass(slots=True)
class Call(RecordedCall):
    """One call; the account is its phone number, empty before a sign-in."""

    session: int = 0


@dataclass(slots=True)
class Sent(AcceptedMessage[int, int]):
    """One message; its key is its random id. *topic* is 0 outside of forums."""

    topic: int = 0


@dataclass(slots=True)
class Session(Connected):
    """One connection, from its first sealed packet on, and the data centre it is made to."""

    centre: int = 0


Record = PlatformRecord[Call, Sent, Session]
