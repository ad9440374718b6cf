"""A platform as the rest of Tidegate knows it: its name, and what can and cannot be done there.

Code asks for one of these facts and never which platform it is. ``app.platform_registry`` registers the platforms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Self

from tidegate.core.ids import ChannelId, GuildId, MessageId, TopicId


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """What one message may hold at most; None where nothing is published."""

    text: int | None = None  # in characters
    caption: int | None = None  # in characters
    file: int | None = None  # in bytes, in every group; some take larger files


@dataclass(frozen=True, slots=True)
class MessageAddress:
    """Where a message is: the platform's ids of the message and of what holds it."""

    channel: ChannelId
    message: MessageId
    guild: GuildId | None = None
    topic: TopicId | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Platform(str):
    """The name that is stored and shown in JSON, with the facts about the platform.

    It is a string, so it is equal to its name, and can be given to the database and to JSON as it is.
    """

    name: str
    _: KW_ONLY
    brand: str
    """As the platform writes its own name."""
    sign_in_needs: str
    """What a person needs to sign an account in, as the end of "Telegram: …"."""
    tokens_made_at: str = ""
    """Where a person makes the token of a bot, on a platform that is signed in with one."""
    sign_in_warning: str = ""
    """What a person should know before they link a device."""
    can_be_mirrored: bool
    """Whether its channels can be mirrored; groups of the others are only sent to."""
    reads_per_second: float
    """The most read calls a second of an account, unless the setting NAME_reads_per_second says otherwise."""
    reads_at_once: int
    """The most read calls of an account in flight at once, unless the setting NAME_reads_at_once says otherwise."""
    has_archives: bool = False
    """Whether archives are collected there, hashed and filed on; where not, channels are mirrored in full."""
    has_guilds: bool = False
    """Whether channels live in guilds (servers), which are listed and followed as a whole."""
    ids_begin_with_channel: bool = False
    """Whether ids grow with time over the whole platform, so that no message has a lower id than its channel."""
    file_hosts: tuple[str, ...] = ()
    """The hosts that files are fetched from, where they have addresses; no other host is ever asked for a file."""
    limits: MessageLimits = MessageLimits()
    """What one message may hold."""
    sends_one_at_a_time: bool = False
    """Whether an account sends to one group at a time."""
    paced_by_standing: bool = False
    """Whether an account's standing decides how fast it sends: the settings NAME_STANDING_sends_per_minute."""
    warms_up: bool = False
    """Whether a new account sends few messages on its first days."""
    has_own_chat: bool = True
    """Whether an account can write to itself."""
    links_by_phone: bool = False
    """Whether an account can be signed in by a code that is typed into a phone."""
    scan_codes_last: tuple[int, int] = (0, 0)
    """Seconds that a code to scan is valid: the first one, and each that follows; 0 where that is not known."""
    proxy_schemes: tuple[str, ...] = ()
    """The kinds of proxies through which its library can connect; none where it cannot."""
    reached_at: tuple[str, int] | None = None
    """A host and port of the platform, to try a proxy with."""
    sessions_shown_at: str | None = None
    """Where a person finds the session of an account and can end it; None where there is no session to end."""
    library_schema: str | None = None
    """The schema of the database in which the platform's library keeps tables of its own; backups take it along."""
    writes_markdown: bool = False
    """Whether texts are stored as its members typed them, with marks such as ``**`` and numbers for names."""
    message_link: Callable[[MessageAddress], str | None] | None = None
    """The address that opens a message in a browser or an app."""

    def __new__(cls, name: str, **_: object) -> Self:
        return super().__new__(cls, name)


_registered: dict[str, Platform] = {}


def register(platform: Platform) -> None:
    """Make a platform known by its name."""
    _registered[platform.name] = platform


def registered_platforms() -> tuple[Platform, ...]:
    """The platforms in the order they were registered."""
    return tuple(_registered.values())


def library_schemas() -> tuple[str, ...]:
    """The schemas of the database that platforms' libraries keep tables in."""
    return tuple(one.library_schema for one in registered_platforms() if one.library_schema is not None)


def platform_named(name: str) -> Platform:
    """The platform of that name; ``ValueError`` where there is none."""
    try:
        return _registered[name]
    except KeyError:
        raise ValueError(f'Tidegate has no platform "{name}"; it has {", ".join(_registered)}.') from None
