"""The JSON that the control address takes for WhatsApp; docs/loopback.md shows each with an example."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tidegate.loopback.spec import Name, PlatformFault, PlatformLimits, Strict

Number = Annotated[str, Field(pattern=r"^\+?[0-9 -]{3,20}$")]
Many = Annotated[int, Field(ge=1, le=100_000)]


class PhoneSpec(Strict):
    phone: Number
    name: str = ""


class GroupSpec(Strict):
    """A group, or *count* of them, numbered. Without *members* every phone is in it; *admins* administer it."""

    name: str
    count: Many = 1
    announce: bool = False
    members: list[Number] | None = None
    admins: list[Number] = []
    old_style: bool = False


class LimitsSpec(PlatformLimits):
    per_minute: Annotated[int, Field(ge=1)] | None = None
    ban_s: Annotated[float, Field(ge=0)] | None = None


class WhatsAppSpec(Strict):
    """Phones, groups and limits; a world without a WhatsApp section has none of them."""

    phones: list[PhoneSpec] = []
    groups: list[GroupSpec] = []
    limits: LimitsSpec = LimitsSpec()


class PostSpec(Strict):
    channel: Name
    text: str = ""
    author: Number = "10000009999"
    count: Many = 1


class DeleteSpec(Strict):
    channel: Name
    ids: Annotated[list[str], Field(min_length=1)]


class EditSpec(Strict):
    channel: Name
    id: str
    text: str


class ReceiptSpec(Strict):
    """A group member received a message: the one with that *id*, else the newest that an account sent to the group."""

    channel: Name
    id: str | None = None
    kind: Literal["delivered", "read", "played", "retry"] = "delivered"


class PairSpec(Strict):
    """A phone links the device that shows *qr* or *code*; without either, the one that began to wait last."""

    phone: str | None = None
    qr: str | None = None
    code: str | None = None


class ChangeSpec(Strict):
    """Changes to the world; every field that is given is carried out."""

    channel: Name | None = None
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


class FaultSpec(PlatformFault):
    platform: Literal["whatsapp"]
