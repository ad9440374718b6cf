"""Posts messages of a named kind, as the library's own object describes them, or as both together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from telethon.tl import TLObject, types

from tidegate.core.errors import BadInput
from tidegate.loopback.telegram.tl_objects.tl_json import as_plain, checked, from_plain
from tidegate.loopback.telegram.world.channels import GENERAL, Channel, Message
from tidegate.loopback.telegram.world.content.media_files import register_files
from tidegate.loopback.telegram.world.content.message_content import Content, filling, message_fields, read_content
from tidegate.loopback.telegram.world.content.message_kinds import draft, web_page
from tidegate.loopback.telegram.world.content.scene import Draft, Scene
from tidegate.loopback.telegram.world.file_content import File
from tidegate.loopback.telegram.world.world import World


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message goes, and the field that names its author when one is given."""

    channel: Channel
    topic: int = 0
    reply_to: int = 0
    author: Mapping[str, Any] = field(default_factory=dict)


def post_kind(
    world: World,
    place: Place,
    kind: str,
    raw: Mapping[str, Any],
    *,
    text: str = "",
    files: Sequence[File] = (),
    date: datetime | None = None,
) -> list[Message]:
    """Post the messages of a kind, with *raw* fields over its own; without a kind *raw* is all there is."""
    channel = place.channel
    drafts = draft(_scene(world, channel, kind, date), kind) if kind else [Draft()]
    album = world.token("album", channel.id, channel.newest_id) if drafts[0].album else 0
    contents = [_content(world, channel, one, raw, list(files)) for one in drafts]
    return [
        _post(world, place, content, one, text=text if number == 0 else "", album=album, date=date)
        for number, (one, content) in enumerate(zip(drafts, contents, strict=True))
    ]


def edited_content(
    world: World, channel: Channel, kind: str, raw: Mapping[str, Any], *, files: Sequence[File] = ()
) -> Content:
    """What a message becomes by an edit; its id, dates and album stay."""
    one = draft(_scene(world, channel, kind, None), kind)[0] if kind else Draft()
    content = _content(world, channel, one, raw, list(files))
    content.text = content.text if content.text is not None else one.text or None
    return content


def preview_page(world: World, channel: Channel, url: str, raw: Mapping[str, Any] | None) -> TLObject:
    """The preview of a link: a made one, or the library's own."""
    if raw is None:
        page: TLObject = checked(web_page(_scene(world, channel, "preview", None), url))
    else:
        page = from_plain(raw, fill=filling(world, channel))
    if not isinstance(page, types.WebPage | types.WebPageEmpty | types.WebPagePending):
        raise BadInput(f"raw: {type(page).__name__} is no web page.")
    register_files(world, page)
    return page


def _scene(world: World, channel: Channel, kind: str, date: datetime | None) -> Scene:
    dice = Random(f"{world.seed}/{channel.id}/{channel.newest_id}/{kind}")  # noqa: S311 - a world, not a secret
    return Scene(world, channel, dice, (date or world.clock.now()).replace(microsecond=0))


def _content(world: World, channel: Channel, one: Draft, raw: Mapping[str, Any], files: list[File]) -> Content:
    made = {name: as_plain(value) for name, value in one.fields.items()}
    return read_content(world, channel, merged(made, message_fields(raw)), files)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """JSON laid over JSON: objects of the same class field by field, all else whole."""
    found = dict(below)
    for name, value in above.items():
        held = found.get(name)
        if isinstance(held, dict) and isinstance(value, dict) and value.get("_", held.get("_")) == held.get("_"):
            found[name] = merged(held, value)
        else:
            found[name] = value
    return found


def _post(
    world: World, place: Place, content: Content, one: Draft, *, text: str, album: int, date: datetime | None
) -> Message:
    channel, when = place.channel, content.date or date or world.clock.now()
    header = content.fields.get("reply_to")
    if place.reply_to and header is not None:
        raise BadInput("A reply is named by reply_to or in raw, not by both.")
    return world.post(
        channel,
        text or (content.text if content.text is not None else one.text),
        topic=place.topic or _topic_of_header(channel, header),
        reply_to=place.reply_to,
        date=when,
        album=content.album or album,
        fields={**place.author, **content.fields},
        number=content.number,
        edited_at=content.edited_at or (when if one.edited else None),
    )


def _topic_of_header(channel: Channel, header: Any) -> int:
    """The topic that a reply header names in a forum; 0 for General, and for a topic that is not there."""
    if not isinstance(header, types.MessageReplyHeader) or not header.forum_topic:
        return 0
    topic = header.reply_to_top_id or header.reply_to_msg_id or 0
    return topic if topic in channel.topics and topic != GENERAL else 0
