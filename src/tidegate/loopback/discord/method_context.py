"""The arguments of a REST method, its refusals, and the look-up of what a request names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import SILENT, Bot, Channel, Guild
from tidegate.loopback.discord.world.world import World
from tidegate.loopback.faults import Fault, FaultKind

Answer: TypeAlias = dict[str, Any] | list[Any] | None
"""What goes back to the client as JSON; None is an answer without a body."""


class Refusal(Exception):
    """The platform's own error: an HTTP status, Discord's number for it, and its text."""

    def __init__(self, status: int, code: int, text: str, errors: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.errors = errors

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"message": str(self), "code": self.code}
        return told | ({"errors": self.errors} if self.errors else {})


def unknown(what: str, code: int) -> Refusal:
    return Refusal(404, code, f"Unknown {what}")


def missing_access() -> Refusal:
    return Refusal(403, 50001, "Missing Access")


def missing_permissions() -> Refusal:
    return Refusal(403, 50013, "Missing Permissions")


def invalid(name: str, code: str, text: str) -> Refusal:
    """The refusal of an invalid field of the request."""
    return Refusal(400, 50035, "Invalid Form Body", {name: {"_errors": [{"code": code, "message": text}]}})


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file that came with a request."""

    name: str
    content: bytes
    mime: str  # as the client says


@dataclass(frozen=True, slots=True)
class Request:
    """One call on its way to its method."""

    world: World
    bot: Bot
    method: str
    named: Mapping[str, str]  # what the path names
    at: str  # the platform's own address
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    files: Sequence[Uploaded] = ()
    fault: Fault | None = None

    def struck(self, kind: FaultKind) -> Fault | None:
        """The fault of this kind that applies to this call."""
        return self.fault if self.fault and self.fault.kind is kind else None

    @property
    def reads_content(self) -> bool:
        """Whether a person switched the message content intent on: without it REST blanks words too."""
        return "message_content" in self.bot.switched_on

    def guild(self) -> Guild:
        """The guild the path names, when the bot is in it."""
        guild = self.world.guilds.get(snowflake_in(self.named["guild.id"], "guild_id"))
        if guild is None:
            raise unknown("Guild", 10004)
        if self.bot.id not in guild.members:
            raise missing_access()
        return guild

    def channel(self, *needed: Permission) -> Channel:
        """The channel the path names, when the bot may see it and has what is *needed*."""
        channel = self.world.channels.get(snowflake_in(self.named["channel.id"], "channel_id"))
        if channel is None:
            raise unknown("Channel", 10003)
        granted = self.world.may(self.bot.id, channel)
        if Permission.VIEW_CHANNEL not in granted:
            raise missing_access()
        if any(one not in granted for one in needed):
            raise missing_permissions()
        return channel

    def text_channel(self, *needed: Permission) -> Channel:
        """A channel that holds messages."""
        channel = self.channel(*needed)
        if channel.kind in SILENT:
            raise Refusal(400, 50008, "Cannot send messages in a non-text channel")
        return channel

    def message(self, channel: Channel) -> Message:
        message = channel.history.get(snowflake_in(self.named["message.id"], "message_id"))
        if message is None:
            raise unknown("Message", 10008)
        return message


Method = Callable[[Request], Answer]


def snowflake_in(text: str, name: str) -> int:
    """A number that is an id; Discord refuses what is none."""
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 63):
        raise invalid(name, "NUMBER_TYPE_COERCE", f'Value "{text}" is not snowflake.')
    return int(text)


def limit_in(request: Request, *, usual: int, most: int) -> int:
    """How many rows a list was asked for."""
    text = request.query.get("limit", str(usual))
    if not text.isdigit():
        raise invalid("limit", "NUMBER_TYPE_COERCE", f'Value "{text}" is not int.')
    if not 1 <= int(text) <= most:
        code, bound = ("NUMBER_TYPE_MIN", "greater than or equal to 1")
        if int(text) > most:
            code, bound = ("NUMBER_TYPE_MAX", f"less than or equal to {most}")
        raise invalid("limit", code, f"int value should be {bound}.")
    return int(text)


def moment_in(request: Request, name: str) -> datetime | None:
    """A moment that a list is bounded by."""
    text = request.query.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as problem:
        raise invalid(name, "DATETIME_TYPE_PARSE", f"Could not parse {text}. Should be ISO8601.") from problem
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
