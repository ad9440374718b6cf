"""The gateway: sessions that hear of the world in numbered events, and may be resumed after a lost connection."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidegate.loopback.discord import shapes
from tidegate.loopback.discord.events import Intent, event_for
from tidegate.loopback.discord.news import News
from tidegate.loopback.discord.places import Bot
from tidegate.loopback.discord.world import World

DISPATCH, RECONNECT, INVALID_SESSION = 0, 7, 9
_REMEMBERED = 20_000
"""How many events a session keeps to tell again; one that lost more has to begin anew."""


class Line(Protocol):
    """The connection a session speaks over."""

    def say(self, frame: str) -> None: ...
    def close(self, code: int = 1000) -> None: ...


@dataclass(slots=True)
class Session:
    """One bot's session: it goes on hearing while it has no connection, until it waited too long."""

    id: str
    bot: Bot
    intents: int
    number: int = 0  # of the last event
    told: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    line: Line | None = None
    left_at: float = 0.0

    def tell(self, name: str, data: Any) -> None:
        """Say an event, or keep it for when the session is resumed."""
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
        """Pass news on to every session that may hear of them; a token that was made anew ends them."""
        if news.name == "TOKEN_RENEWED":
            self.hang_up(4004, news.only)
            return
        for session in list(self.sessions.values()):
            if self._waited(session) > self.world.limits.resume_s:
                del self.sessions[session.id]
                continue
            data = event_for(self.world, news, session.bot, session.intents, self.at())
            if data is not None:
                session.tell(news.name, data)

    def begin(self, bot: Bot, intents: int, shard: list[int] | None, line: Line) -> Session:
        """A new session: it is told who it is, and then every guild with its channels, threads and heads."""
        self._begun += 1
        session = Session(f"{self.world.seed:08x}{self._begun:024x}", bot, intents, line=line)
        self.sessions[session.id] = session
        guilds = [guild for guild in self.world.guilds.values() if bot.id in guild.members]
        ready = {
            "v": 10,
            "user": shapes.myself(bot),
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in guilds],
            "private_channels": [],
            "session_id": session.id,
            "resume_gateway_url": self.at().replace("http", "ws", 1),
            "application": {"id": str(bot.id), "flags": shapes.application_flags(bot)},
        }
        session.tell("READY", ready | ({"shard": shard} if shard else {}))
        for guild in guilds:
            if intents & Intent.GUILDS and not guild.unavailable:
                session.tell("GUILD_CREATE", shapes.guild_create(self.world, guild, bot))
        return session

    def resume(self, bot: Bot, number: str, last: int, line: Line) -> Session | None:
        """Go on with a session: all it missed is told again, in order. None when it has to begin anew."""
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
        """A connection ended; the session waits to be resumed, unless its client said that it was done."""
        if session.line is line:
            session.line, session.left_at = None, self.world.clock.ticks()
        if for_good:
            self.sessions.pop(session.id, None)

    def ask_to_reconnect(self) -> None:
        for session in self.sessions.values():
            if session.line:
                session.line.say(json.dumps({"op": RECONNECT, "d": None}))

    def invalidate(self, *, resumable: bool) -> None:
        """Tell every session that it is no good any more; unless *resumable*, it is forgotten."""
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
