"""The content of a message as the library's own object describes it: a whole message, or only some of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from telethon.tl import TLObject, types

from tidegate.core.errors import BadInput
from tidegate.loopback.telegram.tl_objects.tl_json import Fill, checked, read_arguments
from tidegate.loopback.telegram.tl_objects.tl_schema import Argument, inside
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.content.media_files import register_files
from tidegate.loopback.telegram.world.file_content import File
from tidegate.loopback.telegram.world.people import OutsideChannel
from tidegate.loopback.telegram.world.world import World

_OWN = frozenset({"id", "peer_id", "date", "message", "out", "edit_date", "grouped_id"})
"""What the world itself knows of a message; all else is kept as it was given."""


@dataclass(slots=True)
class Content:
    """What a new message says; None and 0 stand for what the world decides."""

    text: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    number: int = 0
    date: datetime | None = None
    edited_at: datetime | None = None
    album: int = 0

    @property
    def is_service(self) -> bool:
        return "action" in self.fields


def read_content(world: World, channel: Channel, raw: Mapping[str, Any], files: list[File] | None = None) -> Content:
    """The content that JSON describes: a ``Message``, a ``MessageService``, its media or action alone, or some fields.

    Ids, dates and hashes that are left out are filled in. *files* give the bytes of its documents, in their order.
    """
    plain = message_fields(raw)
    if "action" in plain:
        plain.pop("message", None)
    kind = types.MessageService if "action" in plain else types.Message
    given = read_arguments(kind, plain, fill=filling(world, channel))
    if "views" in given or "forwards" in given:
        given = {"views": 0, "forwards": 0} | given  # the schema has both or neither
    content = Content(
        given.get("message"),
        {name: value for name, value in given.items() if name not in _OWN},
        given.get("id", 0),
        given.get("date"),
        given.get("edit_date"),
        given.get("grouped_id", 0),
    )
    take_in(world, content.fields, files)
    _check_sendable(channel, kind, content)
    return content


def take_in(world: World, fields: dict[str, Any], files: list[File] | None = None) -> None:
    """Make the files and people that these fields name part of the world."""
    for name, value in fields.items():
        held = checked(value, f"raw.{name}") if isinstance(value, TLObject) else value
        fields[name] = held
        register_files(world, held, files)
        for one in inside(held):
            if isinstance(one, types.PeerUser):
                world.meet(one.user_id)
            elif isinstance(one, types.PeerChannel) and one.channel_id not in world.channels:
                world.outside.setdefault(one.channel_id, OutsideChannel(one.channel_id, f"Channel {one.channel_id}"))


def message_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the message; an object of another class than a message is its media or its action."""
    name = raw.get("_", "Message")
    if name in ("Message", "MessageService"):
        return {key: value for key, value in raw.items() if value is not None and key != "_"}
    for prefix, place in (("MessageMedia", "media"), ("MessageAction", "action")):
        if isinstance(name, str) and name.startswith(prefix):
            return {place: dict(raw)}
    raise BadInput(f"raw: {name} is neither a message, nor its media, nor its action.")


def filling(world: World, channel: Channel) -> Fill:
    """Ids, dates and hashes; a document gets its id with its file."""

    def fill(kind: type[TLObject], argument: Argument) -> Any:
        if argument.name == "id" and kind in (types.Document, types.Photo):
            return 0
        if argument.name == "id":
            return world.token("raw", kind.__name__, channel.id, channel.newest_id) & 0x7FFFFFFF
        if datetime in argument.kinds:
            return world.clock.now()
        return {"access_hash": 0, "hash": 0, "file_reference": b"", "dc_id": 2}.get(argument.name)

    return fill


def _check_sendable(channel: Channel, kind: type[TLObject], content: Content) -> None:
    """Refuse fields that no client could be sent, such as numbers that are too large."""
    checked(kind(id=1, peer_id=types.PeerChannel(channel.id), date=content.date, message=content.text or "",
                 edit_date=content.edited_at, grouped_id=content.album or None, **content.fields))  # fmt: skip
