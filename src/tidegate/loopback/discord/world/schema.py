"""The JSON that the control address takes for Discord; docs/loopback.md shows each with an example."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, Field, model_validator

from tidegate.loopback.spec import Count, Name, PlatformFault, PlatformLimits, Strict

Seconds = Annotated[float, Field(gt=0)]
Tier = Annotated[int, Field(ge=0, le=3)]
Intent = Literal["message_content", "guild_members", "guild_presences"]
Kind = Literal["text", "news", "voice", "stage", "category", "forum", "media"]
Right = Literal[
    "ADMINISTRATOR",
    "MANAGE_CHANNELS",
    "ADD_REACTIONS",
    "VIEW_CHANNEL",
    "SEND_MESSAGES",
    "MANAGE_MESSAGES",
    "EMBED_LINKS",
    "ATTACH_FILES",
    "READ_MESSAGE_HISTORY",
    "CONNECT",
    "MANAGE_THREADS",
    "CREATE_PUBLIC_THREADS",
    "CREATE_PRIVATE_THREADS",
    "SEND_MESSAGES_IN_THREADS",
    "PIN_MESSAGES",
    "SEND_POLLS",
]


class BotSpec(Strict):
    """An account; *intents* are the privileged ones a person has switched on for it."""

    name: str = "Tidebot"
    intents: list[Intent] = ["message_content", "guild_members", "guild_presences"]


class RoleSpec(Strict):
    name: str
    permissions: list[Right] = []


class OverwriteSpec(Strict):
    """What a channel changes for a role or for one bot; for everyone when neither is named."""

    role: str | None = None
    bot: str | None = None
    allow: list[Right] = []
    deny: list[Right] = []


class ThreadSpec(Strict):
    """A thread the world is made with; *joined* are the bots that are members of a private one."""

    name: str
    messages: Count = 0
    private: bool = False
    archived: bool = False
    archived_at: datetime | None = None
    locked: bool = False
    joined: list[str] = []
    every_s: Seconds = 60


class ChannelSpec(Strict):
    """A channel; a number in *threads* makes that many, with a message each.

    *kinds* adds one message of each kind after the others: of all of them, or of those that are listed.
    """

    name: str
    kind: Kind = "text"
    category: str | None = None
    topic: str = ""
    messages: Count = 0
    every_s: Seconds = 60
    kinds: bool | list[str] = False
    threads: Count | list[ThreadSpec] = 0
    overwrites: list[OverwriteSpec] = []


class GuildSpec(Strict):
    """A guild; a number in *channels* makes that many, with *messages* in each and *threads* spread over them."""

    name: str
    channels: Count | list[ChannelSpec] = 0
    messages: Count = 0
    threads: Count = 0
    roles: list[RoleSpec] = []
    permissions: list[Right] | None = None
    bots: list[str] | None = None
    bot_roles: dict[str, list[str]] = {}
    premium_tier: Tier = 0

    @model_validator(mode="after")
    def _numbers_go_with_a_number(self) -> GuildSpec:
        if isinstance(self.channels, list) and (self.messages or self.threads):
            raise ValueError(
                f'the channels of "{self.name}" are listed, so messages and threads belong to each of them'
            )
        return self


class LimitsSpec(PlatformLimits):
    """Rate limits and spans; see ``Limits``."""

    scale: Annotated[float, Field(ge=0)] | None = None
    routes: dict[str, tuple[int, float]] | None = None
    global_per_s: Annotated[int, Field(ge=1)] | None = None
    invalid: Annotated[int, Field(ge=1)] | None = None
    file_bytes: Annotated[int, Field(gt=0)] | None = None
    nonce_s: Annotated[float, Field(ge=0)] | None = None
    resume_s: Annotated[float, Field(ge=0)] | None = None
    heartbeat_ms: Annotated[int, Field(ge=10)] | None = None


class DiscordSpec(Strict):
    bots: list[BotSpec] = [BotSpec()]
    guilds: list[GuildSpec] = []
    limits: LimitsSpec = LimitsSpec()


class FileSpec(Strict):
    """A file: exact bytes, or a size whose bytes are computed."""

    name: str
    size: Annotated[int, Field(ge=0, le=100 << 20)] | None = None
    base64: Base64Bytes | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> FileSpec:
        if (self.size is None) == (self.base64 is None):
            raise ValueError(f'the file "{self.name}" needs exactly one of size and base64')
        return self


class ForwardSpec(Strict):
    """The message that is forwarded."""

    channel: Name
    message: int


class PostSpec(Strict):
    """Another user posts *count* messages, each with the files; *fields* are further fields in Discord's spelling.

    *kind* is Discord's number of a type, or the name of a kind, whose contents are generated. *raw* is a message as
    Discord spells it, and overrides what was generated.
    """

    channel: Name
    topic: Name | None = None
    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    text: str = ""
    author: str = ""
    files: list[FileSpec] = []
    reply_to: int = 0
    kind: Annotated[int, Field(ge=0)] | str = 0
    raw: dict[str, Any] | None = None
    forward: ForwardSpec | None = None
    fields: dict[str, Any] = {}


class EditSpec(Strict):
    """A new text, or *fields* alone, which leave no mark of an edit.

    *kind* generates new contents. *raw* is dated as an edit when it has content, components or attachments.
    """

    channel: Name
    id: int
    text: str | None = None
    kind: str | None = None
    raw: dict[str, Any] | None = None
    fields: dict[str, Any] = {}


class ReactSpec(Strict):
    """So many people have reacted with *emoji* (*count*), or so many more (*change*); one more when neither is given.

    *user* is the one person meant. A *burst* is a super reaction.
    """

    channel: Name
    message: int
    emoji: Annotated[str, Field(min_length=1, max_length=100)]
    count: Annotated[int, Field(ge=0, le=10_000)] | None = None
    change: Annotated[int, Field(ge=-10_000, le=10_000)] | None = None
    user: str = ""
    burst: bool = False

    @model_validator(mode="after")
    def _one_way_to_count(self) -> ReactSpec:
        if self.count is not None and (self.change is not None or self.user):
            raise ValueError("count goes with neither change nor user")
        return self


class UnreactSpec(Strict):
    """All reactions are removed, or all with one emoji."""

    channel: Name
    message: int
    emoji: str = ""


class VoteSpec(Strict):
    """So many more people vote for an answer; a negative number takes votes back. *user* is the one person meant."""

    channel: Name
    message: int
    answer: int
    change: Annotated[int, Field(ge=-10_000, le=10_000)] = 1
    user: str = ""


class EndPollSpec(Strict):
    channel: Name
    message: int


class PinSpec(Strict):
    channel: Name
    message: int
    user: str = ""


class UnpinSpec(Strict):
    channel: Name
    message: int


class DeleteSpec(Strict):
    """Several ids are one bulk deletion unless *bulk* is false."""

    channel: Name
    ids: Annotated[list[int], Field(min_length=1)]
    bulk: bool | None = None


class NewThreadSpec(Strict):
    name: str
    text: str = ""
    author: str = ""
    message: int = 0
    private: bool = False


class NewChannelSpec(Strict):
    name: str
    kind: Kind = "text"


class ChangeSpec(Strict):
    """Changes to the world; every field that is given is carried out, in this order."""

    channel: Name | None = None
    name: str | None = None
    topic: str | None = None
    overwrites: list[OverwriteSpec] | None = None
    archived: bool | None = None
    locked: bool | None = None
    joined: str | None = None
    new_thread: NewThreadSpec | None = None
    message: int | None = None
    user: str = ""
    reaction_added: str | None = None
    reaction_removed: str | None = None
    reactions_cleared: Literal[True] | None = None
    deleted: Literal[True] | None = None
    person: str | None = None
    username: str | None = None
    global_name: str | None = None
    nick: str | None = None
    avatar: str | None = None
    is_bot: bool | None = None
    account_deleted: Literal[True] | None = None
    guild: Name | None = None
    guild_name: str | None = None
    guild_icon: str | None = None
    premium_tier: Tier | None = None
    new_channel: NewChannelSpec | None = None
    role: str | None = None
    permissions: list[Right] | None = None
    unavailable: bool | None = None
    bot: str | None = None
    in_guild: bool | None = None
    bot_roles: list[str] | None = None
    timed_out_s: Annotated[float, Field(ge=0)] | None = None
    intents: list[Intent] | None = None
    signed_out: Literal[True] | None = None
    disconnect: Literal[True] | Annotated[int, Field(ge=1000, le=4999)] | None = None
    reconnect: Literal[True] | None = None
    invalidate_sessions: Literal[True, "resumable"] | None = None
    limits: LimitsSpec | None = None


class FaultSpec(PlatformFault):
    platform: Literal["discord"]
