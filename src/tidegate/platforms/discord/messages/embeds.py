"""The cards under a message. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.core.message_content import Embed
from tidegate.platforms.discord.messages.json_values import instant_in, number_in, object_in, objects_in, text_in
from tidegate.platforms.discord.permissions import Json

KNOWN = frozenset({"rich", "image", "video", "gifv", "article", "link", "poll_result", "auto_moderation_message"})
_MEDIA = ("image", "thumbnail", "video")


def embeds_of(found: Json) -> tuple[Embed, ...]:
    return tuple(_embed(one) for one in objects_in(found.get("embeds")))


def unknown_embeds(embeds: Iterable[Embed]) -> list[str]:
    """The kinds of embeds that this version does not know; what they say is read like that of the others."""
    return [f"embed {one.kind}" for one in embeds if one.kind and one.kind not in KNOWN]


def field_of(found: Json, name: str) -> str:
    """A field in the first embed of an announcement: what Discord says there in no other place."""
    for embed in objects_in(found.get("embeds"))[:1]:
        for field in objects_in(embed.get("fields")):
            if field.get("name") == name:
                return text_in(field.get("value"))
    return ""


def _embed(found: Json) -> Embed:
    return Embed(
        kind=text_in(found.get("type")),
        title=text_in(found.get("title")),
        description=text_in(found.get("description")),
        url=text_in(found.get("url")),
        author=text_in(object_in(found.get("author")).get("name")),
        footer=text_in(object_in(found.get("footer")).get("text")),
        provider=text_in(object_in(found.get("provider")).get("name")),
        at=instant_in(found.get("timestamp")),
        colour=number_in(found.get("color")),
        fields=tuple((text_in(one.get("name")), text_in(one.get("value"))) for one in objects_in(found.get("fields"))),
        media=_media(found),
    )


def _media(found: Json) -> tuple[str, ...]:
    addresses = (text_in(object_in(found.get(name)).get("url")) for name in _MEDIA)
    return tuple(dict.fromkeys(address for address in addresses if address))
