"""What the control address is told about the WhatsApp of a world; docs/loopback.md shows each with an example."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tidegate.loopback.faults import FaultKind

Number = Annotated[str, Field(pattern=r"^\+?[0-9 -]{3,20}$")]
Count = Annotated[int, Field(ge=1, le=100_000)]


class _Strict(BaseModel):
    """A misspelt field is refused: silence about it would make a test pass for the wrong reason."""

    model_config = ConfigDict(extra="forbid")


class PhoneSpec(_Strict):
    phone: Number
    name: str = ""


class GroupSpec(_Strict):
    """A group, or *count* of them, numbered. Without *members* every phone is in it; *admins* administer it."""

    name: str
    count: Count = 1
    announce: bool = False
    members: list[Number] | None = None
    admins: list[Number] = []
    old_style: bool = False


class LimitsSpec(_Strict):
    per_minute: Annotated[int, Field(ge=1)] | None = None
    ban_s: Annotated[float, Field(ge=0)] | None = None


class WhatsAppSpec(_Strict):
    """Phones, groups and limits; a world that says nothing of WhatsApp has none of them."""

    phones: list[PhoneSpec] = []
    groups: list[GroupSpec] = []
    limits: LimitsSpec = LimitsSpec()


class PostSpec(_Strict):
    channel: int | str
    text: str = ""
    author: Number = "10000009999"
    count: Count = 1


class DeleteSpec(_Strict):
    channel: int | str
    ids: Annotated[list[str], Field(min_length=1)]


class EditSpec(_Strict):
    channel: int | str
    id: str
    text: str


class ReceiptSpec(_Strict):
    """Somebody got a message: the one of that *id*, else the newest that an account sent to the group."""

    channel: int | str
    id: str | None = None
    kind: Literal["delivered", "read", "played", "retry"] = "delivered"


class PairSpec(_Strict):
    """A phone links the device that shows *qr* or *code*; without either, the one that began to wait last."""

    phone: str | None = None
    qr: str | None = None
    code: str | None = None


class ChangeSpec(_Strict):
    """The world changes; every field that is given is done."""

    channel: int | str | None = None
    name: str | None = None
    announce: bool | None = None
    joined: Number | None = None
    left: Number | None = None
    admins: list[Number] | None = None
    deleted: Literal[True] | None = None
    account: str | None = None
    banned_s: Annotated[float, Field(ge=0)] | None = None
    signed_out: Literal[True] | None = None
    replaced: Literal[True] | None = None
    disconnect: Literal[True] | None = None
    limits: LimitsSpec | None = None


class FaultSpec(_Strict):
    platform: Literal["whatsapp"]
    kind: FaultKind
    method: str = ""
    count: Annotated[int, Field(ge=1)] = 1
    seconds: Annotated[float, Field(ge=0)] = 0
    code: int | str = ""
    account: str = ""
    channel: int | str | None = None
