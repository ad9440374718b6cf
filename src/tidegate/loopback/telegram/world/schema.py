"""The JSON that the control address takes for Telegram; docs/loopback.md shows each with an example."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, Field, model_validator

from tidegate.loopback.spec import Count, Name, PlatformFault, PlatformLimits, Strict
from tidegate.loopback.telegram.world.file_content import Delivery, FileKind


class PieceSpec(Strict):
    """Given bytes at their place within a sparse file."""

    offset: Annotated[int, Field(ge=0)]
    base64: Base64Bytes


class EntrySpec(Strict):
    """One entry of a sparse zip: its name is real, its bytes are computed."""

    name: str
    size: Annotated[int, Field(ge=0)]


class FileSpec(Strict):
    """A file: exact bytes, a size whose bytes are computed, the entries of a sparse zip, or a drawn picture."""

    name: str
    size: Annotated[int, Field(ge=0)] | None = None
    base64: Base64Bytes | None = None
    zip: list[EntrySpec] | None = None
    picture: Literal[True] | None = None
    pieces: list[PieceSpec] = []
    kind: FileKind = FileKind.DOCUMENT
    centre: Literal[2, 4] = 2
    delivery: Delivery | None = None
    mime: str = "application/octet-stream"

    @model_validator(mode="after")
    def _one_of_four(self) -> FileSpec:
        if sum(given is not None for given in (self.size, self.base64, self.zip, self.picture)) != 1:
            raise ValueError(f'the file "{self.name}" needs exactly one of size, base64, zip and picture')
        return self


class AccountSpec(Strict):
    phone: Annotated[str, Field(pattern=r"^\+?[0-9 -]{3,20}$")]
    name: str = ""
    password: str = ""
    premium: bool = False


class PersonSpec(Strict):
    """Somebody without an account here."""

    name: str
    last_name: str = ""
    usernames: list[str] = []
    bot: bool = False
    deleted: bool = False
    premium: bool = False
    photo: str = ""  # the name of the picture; each name has another


class TopicSpec(Strict):
    title: str
    messages: Count = 0
    files: Count = 0
    pinned: bool = False
    closed: bool = False


class ChannelSpec(Strict):
    """A channel; *files* of its messages have a file each: a small real zip, or computed bytes when a size is given.

    *kinds* adds a message of each kind, or of those listed, after the others.
    """

    title: str
    kind: Literal["channel", "group", "forum"] = "group"
    topics: Count | list[TopicSpec] = 0
    messages: Count = 0
    files: Count = 0
    file_size: Annotated[int, Field(gt=0)] | None = None
    kinds: bool | list[str] = False
    about: str = ""
    username: str = ""
    protected: bool = False
    pushes: bool = True
    archived: bool = False
    by_create_date: bool = False
    members: list[str] | None = None
    writers: list[str] = []


class PrivateChatSpec(Strict):
    """A private chat of an account, by its phone number, with a person, another account, or itself (the default)."""

    account: str
    other: Name | None = None
    messages: Count = 0


class GroupSpec(Strict):
    """A small group of accounts, by their phone numbers. Each has its own view and numbers of it."""

    title: str
    accounts: Annotated[list[str], Field(min_length=1)]
    messages: Count = 0


class LimitsSpec(PlatformLimits):
    parts: int | None = None
    parts_premium: int | None = None
    page: Annotated[int, Field(ge=1, le=100)] | None = None
    gate_peers: Annotated[int, Field(ge=1)] | None = None
    emoji: Annotated[int, Field(ge=1)] | None = None


class TelegramSpec(Strict):
    accounts: list[AccountSpec] = [AccountSpec(phone="+10000000001", name="Ada")]
    people: list[PersonSpec] = []
    channels: list[ChannelSpec] = []
    private_chats: list[PrivateChatSpec] = []
    groups: list[GroupSpec] = []
    limits: LimitsSpec = LimitsSpec()


class WorldSpec(Strict):
    """A whole world; equal input gives an equal world."""

    seed: int = 0
    telegram: TelegramSpec = TelegramSpec()


class PostSpec(Strict):
    """Another user posts *count* texts, or one message per file, with the text as the caption of the first.

    With *kind* it is a message of that kind, with *raw* the library's own object; raw fields go over those of a kind.
    """

    channel: Name
    topic: Name = 0
    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    text: str = ""
    files: list[FileSpec] = []
    reply_to: int = 0
    album: bool = False
    author: Name | None = None
    anonymous: bool = False
    kind: str = ""
    raw: dict[str, Any] | None = None


class EditSpec(Strict):
    """A message changes; *hidden* is what the platform itself does, which is not shown as an edit."""

    channel: Name
    id: int
    text: str | None = None
    file: FileSpec | None = None
    kind: str = ""
    raw: dict[str, Any] | None = None
    hidden: bool = False


class ReactSpec(Strict):
    """A reaction is set to *count* or moved by *change*, by 1 without either; *people* are shown as who did it."""

    channel: Name
    message: int
    emoji: str | None = None
    custom_emoji: int | None = None
    paid: Literal[True] | None = None
    count: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    change: int | None = None
    people: list[Name] = []
    as_edit: bool | None = None

    @model_validator(mode="after")
    def _one_reaction(self) -> ReactSpec:
        if sum(given is not None for given in (self.emoji, self.custom_emoji, self.paid)) != 1:
            raise ValueError("exactly one of emoji, custom_emoji and paid is needed")
        return self


class VoteSpec(Strict):
    """The votes for an answer, by its place from 0, are set to *count* or moved by *change*, by 1 without either."""

    channel: Name
    message: int
    option: int
    count: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    change: int | None = None
    total: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None


class ViewSpec(Strict):
    """Counts of views and forwards are set; without either each message is seen once more."""

    channel: Name
    messages: Annotated[list[int], Field(min_length=1)]
    views: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    forwards: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None


class PinSpec(Strict):
    channel: Name
    message: int
    pinned: bool = True
    silent: bool = False


class PreviewSpec(Strict):
    """The preview of a link arrives: a made one of this address, or the library's own page."""

    channel: Name
    message: int
    url: str = "https://example.com/later"
    raw: dict[str, Any] | None = None


class DeleteSpec(Strict):
    channel: Name
    ids: Annotated[list[int], Field(min_length=1)]


class ChangeSpec(Strict):
    """Changes to the world; every field that is given is carried out, in this order."""

    channel: Name | None = None
    title: str | None = None
    about: str | None = None
    username: str | None = None
    forum: bool | None = None
    protected: bool | None = None
    pushes: bool | None = None
    archived: bool | None = None
    by_create_date: bool | None = None
    oldest_pts: int | Literal["now"] | None = None
    migrated: Literal[True] | None = None
    joined: str | None = None
    left: str | None = None
    writers: list[str] | None = None
    new_topic: str | None = None
    topic: Name | None = None
    topic_title: str | None = None
    topic_closed: bool | None = None
    topic_pinned: bool | None = None
    topic_deleted: Literal[True] | None = None
    account: str | None = None
    premium: bool | None = None
    box_oldest_pts: int | Literal["now"] | None = None
    new_private_chat: Name | None = None
    password: str | None = None
    signed_out: Literal[True] | None = None
    person: Name | None = None
    new_person: PersonSpec | None = None
    first_name: str | None = None
    last_name: str | None = None
    usernames: list[str] | None = None
    person_deleted: bool | None = None
    photo: str | None = None
    expire_references: Literal[True] | None = None
    forget_uploads: Literal[True] | None = None
    disconnect: Literal[True] | None = None
    limits: LimitsSpec | None = None


class FaultSpec(PlatformFault):
    platform: Literal["telegram"]
