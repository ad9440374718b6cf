"""Translates Discord's errors into Tidegate's classes, which say what to do (error-class-says-what-to-do). Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import aiohttp

from tidegate.core.errors import (
    AskedToWait,
    ChannelGone,
    FileRefused,
    NotSent,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.platforms.interface import ChannelDeleted

UNNAMED_WAIT = timedelta(seconds=60)
"""How long to pause when Discord's proxy reports too many calls and gives no time."""

INTENTS_MISSING = (
    "Discord does not let this bot read what messages say: switch on the Message Content Intent for it under "
    "https://discord.com/developers/applications, Bot, Privileged Gateway Intents."
)
NOT_A_BOT = (
    "Discord does not accept this as the token of a bot. Take it from https://discord.com/developers/applications, "
    "Bot, Reset Token; the token of a person's own account is not used, since that breaks Discord's terms."
)

_MISSING_ACCESS = 50001
_UNKNOWN_CHANNEL, _UNKNOWN_GUILD = 10003, 10004
_TOO_LARGE = 40005
_FILE_TOO_LARGE = "The file is larger than Discord takes there: 10 MiB, and more only in boosted servers."

_SIGNED_OUT, _SHARDS_NEEDED, _INTENTS = 4004, 4011, (4013, 4014)


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """An answer from Discord: *body* is its JSON, or text when a proxy in front of Discord answered."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def code(self) -> int:
        """Discord's own error code; 0 when it gave none."""
        found = self.body.get("code") if isinstance(self.body, Mapping) else None
        return found if isinstance(found, int) else 0

    @property
    def words(self) -> str:
        said = self.body.get("message") if isinstance(self.body, Mapping) else None
        return str(said or f"status {self.status}").rstrip(".")


def trouble(answer: RestAnswer, method: str, *, bucket: str) -> PlatformError:
    """The error for an answer that is not a success; *bucket* is our name of the call's rate-limit bucket."""
    if answer.status == 429:
        return asked_to_wait(answer, bucket)
    if answer.status == 401:
        return SignedOut(f"Discord no longer accepts this bot's token: {answer.words}.")
    if answer.status >= 500:
        return PlatformError(f"Discord is in trouble: {method} ended with status {answer.status}.")
    if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return FileRefused(_FILE_TOO_LARGE)
    if not isinstance(answer.body, Mapping):
        return PlatformError(f"Something before Discord answered {method} with status {answer.status} and no JSON.")
    return _refused(answer, method)


def _refused(answer: RestAnswer, method: str) -> PlatformError:
    if answer.code == _UNKNOWN_CHANNEL:
        return ChannelDeleted("This channel was deleted on Discord.")
    if answer.code in (_MISSING_ACCESS, _UNKNOWN_GUILD):
        return ChannelGone(f"The account can no longer see this on Discord: {answer.words}.")
    if answer.code == _TOO_LARGE:
        return FileRefused(_FILE_TOO_LARGE)
    return Refused(f"Discord refused {method}: {answer.words} (code {answer.code}).")


def asked_to_wait(answer: RestAnswer, bucket: str) -> AskedToWait:
    """The scope and length of a rate limit: a bucket, or the whole account when it is global or from a proxy."""
    if not isinstance(answer.body, Mapping) or "retry_after" not in answer.body:
        return AskedToWait(_seconds(answer.headers.get("Retry-After")) or UNNAMED_WAIT)
    pause = _seconds(answer.body["retry_after"])
    whole = bool(answer.body.get("global")) or answer.headers.get("X-RateLimit-Scope") == "global"
    return AskedToWait(pause, Scope() if whole else Scope(ScopeKind.BUCKET, bucket))


def is_shared(answer: RestAnswer) -> bool:
    """Whether other users exhausted a shared limit; Discord does not count such a refusal against the account."""
    return answer.headers.get("X-RateLimit-Scope") == "shared"


def broken(problem: BaseException, method: str) -> PlatformError:
    """The error for a call that ended in *problem* and without an answer.

    The text of *problem* is left out: it may hold the request, with the address and the password of a proxy.
    """
    if isinstance(problem, aiohttp.ClientHttpProxyError):
        return NotSent(f"The account's proxy refused to connect to Discord (status {problem.status}).")
    if isinstance(problem, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return NotSent("Discord cannot be reached, so nothing was sent; is the network up?")
    if isinstance(problem, asyncio.TimeoutError):
        return OutcomeUnknown(f"Discord took too long to answer {method}.")
    if isinstance(problem, aiohttp.ClientResponseError):
        return OutcomeUnknown(f"Discord, or a proxy before it, answered {method} with status {problem.status}.")
    return OutcomeUnknown(f"The connection to Discord broke during {method} ({type(problem).__name__}).")


def closed_with(code: int | None) -> PlatformError:
    """The error for a gateway close code that forbids reconnecting unchanged."""
    if code == _SIGNED_OUT:
        return SignedOut("Discord no longer accepts this bot's token.")
    if code in _INTENTS:
        return PlatformError(INTENTS_MISSING)
    if code == _SHARDS_NEEDED:
        return Refused("This bot is in too many servers for one connection, and Discord wants it to be sharded.")
    return PlatformError(f"Discord's gateway closed the connection with code {code}.")


def _seconds(value: Any) -> timedelta:
    try:
        return timedelta(seconds=max(0.0, float(value)))
    except (TypeError, ValueError, OverflowError):
        return timedelta()
