"""The gateway: sessions that get numbered events, and may be resumed after a lost connection."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidegate.loopback.discord import json_shapes
from tidegate.loopback.discord.gateway_events import Intent, event_for
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.places import Bot
from tidegate.loopback.discord.world.world import World
from tidegate.loopback.faults import FaultKind

DISPATCH, RECONNECT, INVALID_SESSION = 0, 7, 9
_REMEMBERED = 20_000
"""How many events a session keeps for a resume; a session that missed more must start over."""


class Line(Protocol):
    """The connection that a session sends its events over."""

    def say(self, frame: str) -> None: ...
    def close(self, code: int = 1000) -> None: ...


@dataclass(slots=True)
class Session:
    """One bot's session. It collects events while it has no connection, until the time to resume has passed."""

    id: str
    bot: Bot
    intents: int
    number: int = 0  # of the last event
    told: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    line: Line | None = None
    left_at: float = 0.0

    def tell(self, name: str, data: Any) -> None:
        """Send an event, or keep it until the session is resumed."""
        self.number += 1
        frame = json.dumps({"op": DISPATCH, "t": name, "s": self.number, "d": data}, separators=(",", ":"))
        self.told.append((self.number, frame))
        if self.line:
            self.line.say(frame)


class Gateway:
    """All sessions of a world; *at* says where the platform is."""

    def __init__(self, world: World, at: Callable[[], str]) -> None:
        self.world = world
        self.at = at
        self.sessions: dict[str, Session] = {}
        self._begun = 0
        world.listeners.append(self.hear)

    def hear(self, news: News) -> None:
        """Send an event to every session that may see it; a new token ends the bot's sessions."""
        if news.name == "TOKEN_RENEWED":
            self.hang_up(4004, news.only)
            return
        for session in list(self.sessions.values()):
            if self._waited(session) > self.world.limits.resume_s:
                del self.sessions[session.id]
                continue
            data = event_for(self.world, news, session.bot, session.intents, self.at())
            if data is not None and not self._is_struck(news, session.bot):
                session.tell(news.name, data)

    def _is_struck(self, news: News, bot: Bot) -> bool:
        """Whether an event gets lost on its way: by a fault that names it, as ``gateway MESSAGE_CREATE``."""
        faults, method = self.world.faults, f"gateway {news.name}"
        named = any(one.method == method and one.kind is FaultKind.MISSING_ROW for one in faults.waiting)
        channels = [news.channel.id] if news.channel else []
        return named and faults.strike(method, bot.name, channels) is not None

    def begin(self, bot: Bot, intents: int, shard: list[int] | None, line: Line) -> Session:
        """A new session: it gets its identity, then every guild with its channels, threads and newest message ids."""
        self._begun += 1
        session = Session(f"{self.world.seed:08x}{self._begun:024x}", bot, intents, line=line)
        self.sessions[session.id] = session
        guilds = [guild for guild in self.world.guilds.values() if bot.id in guild.members]
        ready = {
            "v": 10,
            "user": json_shapes.myself(bot),
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in guilds],
            "private_channels": [],
            "session_id": session.id,
            "resume_gateway_url": self.at().replace("http", "ws", 1),
            "application": {"id": str(bot.id), "flags": json_shapes.application_flags(bot)},
        }
        session.tell("READY", ready | ({"shard": shard} if shard else {}))
        for guild in guilds:
            if intents & Intent.GUILDS and not guild.unavailable:
                session.tell("GUILD_CREATE", json_shapes.guild_create(self.world, guild, bot))
        return session

    def resume(self, bot: Bot, number: str, last: int, line: Line) -> Session | None:
        """Resume a session: all events it missed are sent again, in order. None when it must start over."""
        session = self.sessions.get(number)
        if session is None or session.bot is not bot or self._too_late(session, last):
            return None
        if session.line and session.line is not line:
            session.line.close(4000)
        session.line = line
        for at, frame in session.told:
            if at > last:
                line.say(frame)
        session.tell("RESUMED", {"_trace": []})
        return session

    def _too_late(self, session: Session, last: int) -> bool:
        oldest = session.told[0][0] if session.told else 1
        return self._waited(session) > self.world.limits.resume_s or not oldest - 1 <= last <= session.number

    def _waited(self, session: Session) -> float:
        return 0.0 if session.line else self.world.clock.ticks() - session.left_at

    def leave(self, session: Session, line: Line, *, for_good: bool) -> None:
        """A connection ended; the session waits to be resumed, unless its client ended it."""
        if session.line is line:
            session.line, session.left_at = None, self.world.clock.ticks()
        if for_good:
            self.sessions.pop(session.id, None)

    def ask_to_reconnect(self) -> None:
        for session in self.sessions.values():
            if session.line:
                session.line.say(json.dumps({"op": RECONNECT, "d": None}))

    def invalidate(self, *, resumable: bool) -> None:
        """Send every session that it is invalid; unless *resumable*, it is deleted."""
        for session in list(self.sessions.values()):
            if session.line:
                session.line.say(json.dumps({"op": INVALID_SESSION, "d": resumable}))
            if not resumable:
                del self.sessions[session.id]

    def hang_up(self, code: int, bot: int = 0) -> None:
        """Close connections as a restart of the gateway does, of one bot or of all; 4004 ends their sessions."""
        for session in list(self.sessions.values()):
            if bot in (0, session.bot.id):
                if session.line:
                    session.line.close(code)
                if code == 4004:
                    self.sessions.pop(session.id, None)

    def close(self) -> None:
        self.world.listeners.remove(self.hear)
        self.hang_up(1001)
        self.sessions.clear()
