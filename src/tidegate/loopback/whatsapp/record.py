"""The platform's own record of the calls and messages it received; tests compare it with ours."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.loopback.call_record import AcceptedMessage, Connected, PlatformRecord, RecordedCall


@dataclass(slots=True)
class Call(RecordedCall):
    """One call; the account is a phone number, empty before a device is paired."""

    channel: str = ""
    error: str = ""


Sent = AcceptedMessage[str, str]
"""Its key is the message's secret: WhatsApp takes no key of ours."""

Record = PlatformRecord[Call, Sent, Connected]
