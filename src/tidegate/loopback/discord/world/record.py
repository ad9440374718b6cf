"""The platform's own record of the calls and messages it received; tests compare it with ours."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.loopback.call_record import AcceptedMessage, Connected, PlatformRecord, RecordedCall


@dataclass(slots=True)
class Call(RecordedCall):
    """One call; the account is the bot's name, empty when its token is unknown.

    *status* is that of the answer, 0 when there was none; *channel* and *query* say which page was asked for.
    """

    channel: int = 0
    query: str = ""
    status: int = 0


Sent = AcceptedMessage[int, str]
"""Its key is the nonce."""


@dataclass(slots=True)
class GatewaySession(Connected):
    """One gateway connection, and the session it began or resumed."""

    session: str = ""


Record = PlatformRecord[Call, Sent, GatewaySession]
