"""The platform's own data: bots, people, guilds, channels, and its record of calls and messages.

Other people write through ``post``, ``edit`` and ``delete``; what Tidegate sends goes through the same methods.
Listeners get every change, to pass it on to connected clients.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import Any

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.discord.rate_limits import Limits
from tidegate.loopback.discord.world.history import Attachment, Message
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.permissions import EVERYTHING, WITH_MESSAGES, Permission
from tidegate.loopback.discord.world.places import (
    SILENT,
    THREADS,
    Bot,
    Channel,
    ChannelKind,
    Guild,
    Member,
    Role,
    User,
    may,
)
from tidegate.loopback.discord.world.record import Record
from tidegate.loopback.discord.world.snowflakes import LOW_BITS, snowflake
from tidegate.loopback.faults import Faults

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
"""What a world is made with happened before this; what is posted later has ids above it, whatever time it is now."""

_SETTLED = datetime(2019, 1, 1, tzinfo=UTC)
_LARGEST_CROWD = 20_000
_PEOPLE = ("Ada", "Brook", "Cleo", "Dara", "Emil", "Femi", "Gale")


class World:
    """One platform's data; *seed* makes ids and tokens the same each time."""

    def __init__(self, clock: Clock, *, seed: int = 0) -> None:
        self.clock = clock
        self.seed = seed
        self.bots: dict[int, Bot] = {}
        self.people: dict[int, User] = {}
        self.webhooks: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}  # threads and conversations too
        self.nonces: dict[tuple[int, str], tuple[int, int, datetime]] = {}  # (bot, nonce): channel, message, when
        self.told: dict[tuple[int, str], Any] = {}  # (bot, path): the last answer of a list, for a stale answer
        self.limits = Limits()
        self.faults = Faults()
        self.record = Record()
        self.invalid: list[float] = []  # instants of invalid answers, which count against the account
        self.revision = 0  # rises with every change, so that changes are saved
        self.newest_id = snowflake(BEGINS)
        self.settled = 0  # how many old ids were given
        self.listeners: list[Callable[[News], None]] = []
        for name in _PEOPLE:
            self.person(name)

    def new_id(self) -> int:
        """The id of something created now: above every other, by the world's clock where that allows it."""
        self.newest_id = max(snowflake(self.clock.now()), self.newest_id + 1)
        return self.newest_id

    def old_id(self) -> int:
        """The id of something that was there before all messages, such as a guild or a person."""
        self.settled += 1
        return snowflake(_SETTLED) + (self.seed % 1000 << 40) + (self.settled << LOW_BITS)

    def add_bot(self, name: str) -> Bot:
        bot = Bot(self.old_id(), name)
        self.bots[bot.id] = bot
        return bot

    def token(self, bot: Bot) -> str:
        """What the bot signs in with, in the form Discord's tokens have."""
        secret = sha256(f"{self.seed}/{bot.id}/{bot.tokens}".encode()).digest()
        name, tail = (urlsafe_b64encode(part).decode().rstrip("=") for part in (str(bot.id).encode(), secret))
        return f"{name}.{tail[:6]}.{tail[5:]}"

    def bot_with(self, token: str) -> Bot | None:
        """Whose token this is; its first part names the bot, as in Discord's own."""
        try:
            bot = self.bots.get(int(urlsafe_b64decode(token.partition(".")[0] + "==")))
        except ValueError:
            return None
        return bot if bot and self.token(bot) == token else None

    def renew_token(self, bot: Bot) -> None:
        """Renew the bot's token: the old one becomes invalid, and its sessions end."""
        bot.tokens += 1
        self.tell(News("TOKEN_RENEWED", only=bot.id))

    def person(self, name: str) -> User:
        """The person of this name, created if there is none."""
        for user in self.people.values():
            if name in (user.name, str(user.id)):
                return user
        user = User(self.old_id(), name)
        self.people[user.id] = user
        return user

    @property
    def first_people(self) -> tuple[int, ...]:
        """Those that every world has; whoever a message brought along is not among them."""
        return tuple(islice(self.people, len(_PEOPLE)))

    def crowd(self, count: int, *, me: bool = False) -> list[int]:
        """So many people, guests among them when the world has too few; with *me* the first bot is one of them."""
        if not 0 <= count <= _LARGEST_CROWD:
            raise BadInput(f"A crowd of {count} is not possible; at most {_LARGEST_CROWD} can do the same.")
        first = list(self.bots)[: int(me)]
        for number in range(len(self.people), count - len(first)):
            guest = User(self.old_id(), f"Guest {number + 1}")
            self.people[guest.id] = guest
        return [*first, *islice(self.people, max(0, count - len(first)))][:count]

    def user(self, number: int) -> User:
        return self.bots.get(number) or self.people.get(number) or self.webhooks[number]

    def is_member(self, guild: Guild, number: int) -> bool:
        """Whether a user is in a guild: people are in all of them until their account is deleted."""
        person = self.people.get(number)
        return number in guild.members or (person is not None and not person.deleted)

    def add_guild(self, name: str, bots: Sequence[Bot] | None = None) -> Guild:
        """A new guild with the role everyone has; without *bots* all that the world has by now are in it."""
        guild = Guild(self.old_id(), name, owner=self.person(_PEOPLE[0]).id)
        guild.roles[guild.id] = Role(guild.id, "@everyone")
        guild.members = {bot.id: Member() for bot in (self.bots.values() if bots is None else bots)}
        self.guilds[guild.id] = guild
        return guild

    def add_role(self, guild: Guild, name: str, permissions: Permission | None = None) -> Role:
        role = Role(self.old_id(), name, permissions or Permission(0))
        guild.roles[role.id] = role
        return role

    def add_channel(self, guild: Guild, name: str, kind: ChannelKind = ChannelKind.TEXT, **otherwise: Any) -> Channel:
        """A new channel; *otherwise* are fields of ``Channel``."""
        position = sum(channel.guild == guild.id for channel in self.channels.values())
        channel = Channel(self.new_id(), kind, name, guild.id, position=position, **otherwise)
        self.channels[channel.id] = channel
        self.tell(News("CHANNEL_CREATE", guild, channel))
        return channel

    def conversation(self, bot: Bot, person: User) -> Channel:
        """The channel in which a bot and a person talk; made when they talk for the first time."""
        for channel in self.channels.values():
            if channel.between == (bot.id, person.id):
                return channel
        channel = Channel(self.new_id(), ChannelKind.DM, f"@{person.name}", between=(bot.id, person.id))
        self.channels[channel.id] = channel
        self.revision += 1
        return channel

    def channel(self, named: int | str) -> Channel:
        """A channel or thread by its id or its name; BadInput when there is none.

        ``@Ada`` is the conversation with the first bot, ``@Ada:Other`` that with another one.
        """
        text = str(named)
        person, colon, bot = text.removeprefix("@").partition(":")
        if text.startswith("@") and colon:
            found_bot = next((one for one in self.bots.values() if one.name == bot), None)
            if found_bot is None:
                raise BadInput(f"The loopback Discord has no bot {bot}.")
            return self.conversation(found_bot, self.person(person))
        if text.isdigit() and int(text) in self.channels:
            return self.channels[int(text)]
        found = [channel for channel in self.channels.values() if channel.name == text]
        if len(found) > 1:
            ids = ", ".join(str(channel.id) for channel in found)
            raise BadInput(f"Several channels of the loopback Discord are called {named}: {ids}. Name one by its id.")
        if found:
            return found[0]
        if text.startswith("@") and self.bots:
            return self.conversation(next(iter(self.bots.values())), self.person(text[1:]))
        raise BadInput(f"The loopback Discord has no channel {named}.")

    def guild_of(self, channel: Channel) -> Guild | None:
        return self.guilds.get(channel.guild)

    def may(self, bot: int, channel: Channel) -> Permission:
        """What a bot may do in a channel or thread; in a private thread it has to be a member or manage threads."""
        guild = self.guild_of(channel)
        if guild is None:
            return EVERYTHING & ~Permission.MANAGE_MESSAGES if bot in channel.between else Permission(0)
        granted = may(guild, self.channels[channel.parent] if channel.thread else channel, bot, self.clock.now())
        if not channel.thread and Permission.SEND_MESSAGES not in granted:
            granted &= ~WITH_MESSAGES
        hidden = channel.kind is ChannelKind.PRIVATE_THREAD and Permission.MANAGE_THREADS not in granted
        if hidden and channel.thread and bot not in channel.thread.members:
            return Permission(0)
        return granted

    def channels_of(self, guild: Guild) -> Iterator[Channel]:
        """The guild's channels in order, without threads."""
        return (one for one in self.channels.values() if one.guild == guild.id and one.kind not in THREADS)

    def threads_of(self, place: Guild | Channel) -> Iterator[Channel]:
        """The threads of a guild or of one channel."""
        return (one for one in self.channels.values() if one.thread and place.id in (one.guild, one.parent))

    def post(self, channel: Channel, text: str = "", *, author: int = 0, **otherwise: Any) -> Message:
        """A new message in *channel*, by the first person when no *author* is given; *otherwise* are its fields."""
        if channel.kind in SILENT:
            raise BadInput(f"{channel.name} holds no messages itself; start a thread in it.")
        writer = author or channel.between[1] or next(iter(self.people))
        return self.append(channel, Message(self.new_id(), writer, text, **otherwise))

    def append(self, channel: Channel, message: Message) -> Message:
        """Put a message that was just made into its channel; an archived thread becomes active."""
        channel.history.put(message)
        channel.head = max(channel.head, message.id)
        if channel.thread:
            channel.thread.sent += message.id != channel.id
            if channel.thread.archived:
                self.archive(channel, archived=False)
        self.tell(News("MESSAGE_CREATE", self.guild_of(channel), channel, message))
        return message

    def edit(self, channel: Channel, number: int, *, text: str | None = None, **fields: Any) -> Message:
        """Change a message's text; *fields* alone, such as embeds, are no edit by a person and leave no mark of one."""
        message = self.message(channel, number)
        changed = replace(message, fields=message.fields | fields)
        if text is not None:
            changed = replace(changed, text=text, edited_at=self.clock.now())
        self.change_message(channel, changed)
        return changed

    def change_message(self, channel: Channel, message: Message) -> None:
        channel.history.put(message)
        self.tell(News("MESSAGE_UPDATE", self.guild_of(channel), channel, message))

    def delete(self, channel: Channel, numbers: Sequence[int], *, bulk: bool | None = None) -> None:
        """Delete messages: one each in an event of its own, several in one, unless *bulk* says otherwise."""
        for number in numbers:
            self.message(channel, number)
        for number in numbers:
            channel.history.remove(number)
        guild = self.guild_of(channel)
        if len(numbers) > 1 if bulk is None else bulk:
            self.tell(News("MESSAGE_DELETE_BULK", guild, channel, data={"ids": [str(number) for number in numbers]}))
            return
        for number in numbers:
            self.tell(News("MESSAGE_DELETE", guild, channel, data={"id": str(number)}))

    def archive(self, thread: Channel, *, archived: bool, at: datetime | None = None) -> None:
        """Archive a thread, or make it active again."""
        assert thread.thread is not None
        thread.thread.archived = archived
        thread.thread.archive_changed_at = at or self.clock.now()
        self.tell(News("THREAD_UPDATE", self.guild_of(thread), thread))

    def message(self, channel: Channel, number: int) -> Message:
        message = channel.history.get(number)
        if message is None:
            raise BadInput(f"{channel.name} has no message {number}.")
        return message

    def attachment(self, name: str, content: bytes, mime: str = "application/octet-stream") -> Attachment:
        return Attachment(self.new_id(), name, content, mime)

    def tell(self, news: News) -> None:
        self.revision += 1
        for listener in self.listeners:
            listener(news)
