"""One REST call from its arrival to its answer: recorded, failed on purpose, rate limited, or run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import unquote

from tidegate.loopback.discord.method_context import Method, Refusal, Request, Uploaded, missing_access
from tidegate.loopback.discord.methods import messages, pins, places, polls, reactions, sends
from tidegate.loopback.discord.rate_limits import Verdict
from tidegate.loopback.discord.world.places import Bot
from tidegate.loopback.discord.world.record import Call
from tidegate.loopback.discord.world.world import World
from tidegate.loopback.faults import Fault, FaultKind

METHODS: dict[str, Method] = {
    **places.METHODS,
    **messages.METHODS,
    **sends.METHODS,
    **reactions.METHODS,
    **polls.METHODS,
    **pins.METHODS,
}
_MAJOR = ("channel.id", "guild.id")
_COUNTED = (401, 403, 429)
_TEN_MINUTES = 600.0
_VIA = "1.1 loopback"
_UNAUTHORIZED = Refusal(401, 0, "401: Unauthorized")


def _pattern(method: str) -> re.Pattern[str]:
    parts = re.split(r"\{([a-z.]+)\}", method.partition(" ")[2])
    named = "".join(
        f"(?P<{part.replace('.', '_')}>[^/]+)" if at % 2 else re.escape(part) for at, part in enumerate(parts)
    )
    return re.compile(named)


_ROUTES = sorted(((method, _pattern(method)) for method in METHODS), key=lambda route: route[0].count("{"))


class Reply(NamedTuple):
    """The response: a status, headers and a body, which is JSON unless it is the bytes of an HTML page."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    mime: str = "application/json"


class Silence(Exception):
    """The call gets no answer; *hang_up* when its connection ends as well."""

    def __init__(self, *, hang_up: bool) -> None:
        super().__init__("no answer")
        self.hang_up = hang_up


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came over the wire, read whole."""

    method: str
    named: Mapping[str, str]  # what its path names
    query: Mapping[str, str]
    token: str
    body: Mapping[str, Any]
    files: tuple[Uploaded, ...]
    at: str


def find(verb: str, path: str) -> tuple[str, dict[str, str]]:
    """The method a path belongs to, and what it names; an unknown one is its own name."""
    for method, pattern in _ROUTES:
        if method.startswith(f"{verb} ") and (found := pattern.fullmatch(path)):
            return method, {name.replace("_", "."): unquote(value) for name, value in found.groupdict().items()}
    return f"{verb} {path}", {}


def count(world: World, asked: Asked) -> Call:
    """Record a call as it arrives."""
    bot = world.bot_with(asked.token)
    number = asked.named.get("channel.id", "")
    query = "&".join(f"{name}={value}" for name, value in sorted(asked.query.items()))
    channel = int(number) if number.isdigit() else 0
    call = Call(world.clock.now(), bot.name if bot else "", asked.method, channel, query)
    world.revision += 1
    world.record.calls.append(call)
    if asked.method not in METHODS:
        world.record.unknown.append(asked.method)
    return call


def answer(world: World, asked: Asked, call: Call, fault: Fault | None) -> Reply:
    """Answer a call as the platform would; Silence is no answer at all."""
    now = world.clock.ticks()
    shut_out = len(recently_invalid(world)) >= world.limits.invalid
    reply = _shut_out() if shut_out else _let_in(world, asked, fault)
    call.status = reply.status
    shared = reply.headers.get("X-RateLimit-Scope") == "shared"
    if reply.status in _COUNTED and not shared:
        world.invalid.append(now)
    if fault and fault.kind is FaultKind.DROP_AFTER_ACCEPT:
        raise Silence(hang_up=True)
    return reply


def recently_invalid(world: World) -> list[float]:
    """Invalid answers of the last ten minutes; far too many of them block the account."""
    oldest = world.clock.ticks() - _TEN_MINUTES
    world.invalid = [at for at in world.invalid if at > oldest]
    return world.invalid


def _let_in(world: World, asked: Asked, fault: Fault | None) -> Reply:
    """A call that needs a valid token, and must be within the rate limits, before its method runs."""
    bot = world.bot_with(asked.token)
    if asked.method not in METHODS:
        return _refuse(Refusal(404, 0, "404: Not Found"))
    struck = _strike(world, bot, fault, asked.method) if fault else None
    if struck:
        return struck
    if bot is None:
        return _refuse(_UNAUTHORIZED)
    major = "/".join(asked.named[name] for name in _MAJOR if name in asked.named)
    verdict = world.limits.charge(str(bot.id), asked.method, major, world.clock.ticks())
    headers = _headers(world, verdict, asked.method)
    if verdict.wait:
        return _too_fast(verdict.wait, verdict.scope, headers)
    request = Request(world, bot, asked.method, asked.named, asked.at, asked.query, asked.body, asked.files, fault)
    return _done(request, headers)


def _done(request: Request, headers: Mapping[str, str]) -> Reply:
    try:
        told = METHODS[request.method](request)
    except Refusal as refusal:
        return _refuse(refusal, headers)
    return Reply(204, headers, b"", "text/html") if told is None else Reply(200, headers, _json(told))


def _refuse(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(refusal.status, headers or {"Via": _VIA}, _json(refusal.as_json()))


def _strike(world: World, bot: Bot | None, fault: Fault, method: str) -> Reply | None:
    """The faults that apply before the method runs; other faults change what the method answers."""
    match fault.kind:
        case FaultKind.WAIT:
            scope = fault.code or "user"
            bucket = _headers(world, Verdict(5, 0, fault.seconds), method) if scope != "global" else {}
            return _too_fast(fault.seconds, scope, bucket)
        case FaultKind.HTML_429:
            return _shut_out(fault.seconds)
        case FaultKind.ERROR:
            return _refuse(_error(fault.code))
        case FaultKind.FORBIDDEN:
            return _refuse(missing_access())
        case FaultKind.DISCONNECT:
            raise Silence(hang_up=True)
        case FaultKind.TIMEOUT:
            raise Silence(hang_up=False)
        case FaultKind.SIGNED_OUT:
            if bot:
                world.renew_token(bot)
            return _refuse(_UNAUTHORIZED)
    return None


_TEXTS = {400: "400: Bad Request", 403: "Missing Permissions", 404: "404: Not Found", 500: "500: Internal Server Error"}
_CODES = {50001: "Missing Access", 50013: "Missing Permissions", 10003: "Unknown Channel", 10008: "Unknown Message"}


def _error(code: str) -> Refusal:
    """Parses forms such as ``500``, ``403 50013`` and ``404 10003``."""
    status, _, number = (code or "500").partition(" ")
    text = _CODES.get(int(number or 0)) or _TEXTS.get(int(status), f"{status}: Error")
    return Refusal(int(status), int(number or 0), text)


def _headers(world: World, verdict: Verdict, method: str) -> dict[str, str]:
    reset = world.clock.now().timestamp() + verdict.reset_after
    return {
        "Via": _VIA,
        "X-RateLimit-Limit": str(verdict.limit),
        "X-RateLimit-Remaining": str(verdict.remaining),
        "X-RateLimit-Reset": f"{reset:.3f}",
        "X-RateLimit-Reset-After": f"{verdict.reset_after:.3f}",
        "X-RateLimit-Bucket": sha256(method.encode()).hexdigest()[:32],
    }


def _too_fast(wait: float, scope: str, headers: Mapping[str, str]) -> Reply:
    """A 429 of Discord's own; the wait in its body is exact, the one in its header whole seconds."""
    told = {"message": "You are being rate limited.", "retry_after": round(wait, 3), "global": scope == "global"}
    more = {"Via": _VIA, "Retry-After": str(math.ceil(wait)), "X-RateLimit-Scope": scope}
    if scope == "global":
        more["X-RateLimit-Global"] = "true"
    return Reply(429, {**headers, **more}, _json(told))


def _shut_out(seconds: float = 0) -> Reply:
    """A 429 of the network in front of Discord: a page for people, without Discord's headers."""
    page = b"<!doctype html><title>Access denied | loopback used to restrict access</title><h1>Error 1015</h1>"
    headers = {"Retry-After": str(math.ceil(seconds))} if seconds else {}
    return Reply(429, headers, page, "text/html")


def _json(told: Any) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode()
