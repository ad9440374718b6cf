"""What the control address is told about the Telegram of a world; docs/loopback.md shows each with an example."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Base64Bytes, Field, model_validator

from tidegate.loopback.spec import Count, Name, PlatformFault, Strict
from tidegate.loopback.telegram.content import FileKind


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


class TopicSpec(Strict):
    title: str
    messages: Count = 0
    files: Count = 0
    pinned: bool = False
    closed: bool = False


class ChannelSpec(Strict):
    """A channel; *files* of its messages have a file each: a small real zip, or computed bytes when a size is given."""

    title: str
    kind: Literal["channel", "group", "forum"] = "group"
    topics: Count | list[TopicSpec] = 0
    messages: Count = 0
    files: Count = 0
    file_size: Annotated[int, Field(gt=0)] | None = None
    protected: bool = False
    pushes: bool = True
    archived: bool = False
    by_create_date: bool = False
    members: list[str] | None = None
    writers: list[str] = []


class LimitsSpec(Strict):
    parts: int | None = None
    parts_premium: int | None = None
    page: Annotated[int, Field(ge=1, le=100)] | None = None
    gate_peers: Annotated[int, Field(ge=1)] | None = None


class TelegramSpec(Strict):
    accounts: list[AccountSpec] = [AccountSpec(phone="+10000000001", name="Ada")]
    channels: list[ChannelSpec] = []
    limits: LimitsSpec = LimitsSpec()


class WorldSpec(Strict):
    """A whole world; equal input gives an equal world."""

    seed: int = 0
    telegram: TelegramSpec = TelegramSpec()


class PostSpec(Strict):
    """Somebody writes: *count* texts, or one message a file with the text as the caption of the first."""

    channel: Name
    topic: Name = 0
    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    text: str = ""
    files: list[FileSpec] = []
    reply_to: int = 0
    album: bool = False


class EditSpec(Strict):
    channel: Name
    id: int
    text: str | None = None
    file: FileSpec | None = None


class DeleteSpec(Strict):
    channel: Name
    ids: Annotated[list[int], Field(min_length=1)]


class ChangeSpec(Strict):
    """The world changes; every field that is given is done, in this order."""

    channel: Name | None = None
    title: str | None = None
    forum: bool | None = None
    protected: bool | None = None
    pushes: bool | None = None
    archived: bool | None = None
    by_create_date: bool | None = None
    oldest_pts: int | Literal["now"] | None = None
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
    password: str | None = None
    signed_out: Literal[True] | None = None
    expire_references: Literal[True] | None = None
    forget_uploads: Literal[True] | None = None
    disconnect: Literal[True] | None = None
    limits: LimitsSpec | None = None


class FaultSpec(PlatformFault):
    platform: Literal["telegram"]
