"""The texts of buttons, menus and laid-out messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from tidegate.platforms.discord.messages.emoji import emoji_text
from tidegate.platforms.discord.messages.json_values import label_in, number_in, object_in, objects_in, text_in
from tidegate.platforms.discord.permissions import Json

KNOWN = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 19, 21, 22, 23})
_OWN = ("title", "content", "name", "placeholder", "description", "value")
_OF_CHOICE = ("description",)  # its value is for the bot
_BELOW = ("components", "component", "accessory")


class ComponentTexts(NamedTuple):
    """What components say, from top to bottom, and which of their types this version does not know."""

    texts: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def component_texts(found: Json) -> ComponentTexts:
    """The texts of all components, also those in others. One of an unknown type is read like the known ones."""
    texts: list[str] = []
    unknown: dict[str, None] = {}
    waiting = objects_in(found.get("components"))[::-1]
    while waiting:
        one = waiting.pop()
        if number_in(one.get("type")) not in KNOWN:
            unknown[f"component {label_in(one.get('type'))}"] = None
        texts += _texts(one)
        for choice in (*objects_in(one.get("options")), *objects_in(one.get("items"))):
            texts += _texts(choice, _OF_CHOICE)
        waiting += [below for name in _BELOW for below in _objects(one.get(name))][::-1]
    return ComponentTexts(tuple(texts), tuple(unknown))


def _texts(found: Json, names: Iterable[str] = _OWN) -> list[str]:
    said = [_label(found), *(text_in(found.get(name)) for name in names), *map(_file_name, _media(found))]
    return [one for one in dict.fromkeys(said) if one]


def _media(found: Json) -> list[str]:
    """The addresses of pictures and files in a component, which ``attachments`` does not list."""
    return [text_in(object_in(found.get(name)).get("url")) for name in ("media", "file")]


def _file_name(address: str) -> str:
    return unquote(address.partition("?")[0].rpartition("/")[2])


def _label(found: Json) -> str:
    """What a button says, and where it leads."""
    label = " ".join(filter(None, (emoji_text(found.get("emoji")), text_in(found.get("label")))))
    address = text_in(found.get("url"))
    return f"{label}: {address}" if label and address else label or address


def _objects(value: object) -> list[Json]:
    return [value] if isinstance(value, dict) else objects_in(value)
