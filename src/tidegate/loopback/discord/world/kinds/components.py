"""Components of every type, each in a message that may hold it.

Discord lets some of them only into modals, never into messages; those are posted all the same, as it would show them.
"""

from __future__ import annotations

from tidegate.loopback.discord.world.kinds.scene import Maker, Raw, Scene
from tidegate.loopback.discord.world.messages.sample_files import PICTURE_SIZE

IS_V2 = 1 << 15
"""The flag of a message whose words and files are all in components."""


def _row(*held: Raw) -> Raw:
    return {"type": 1, "id": 1, "components": list(held)}


def _button(scene: Scene, style: int = 1) -> Raw:
    shape = {"type": 2, "id": 1 + style, "style": style, "label": scene.words(f"button {style}", 1), "disabled": False}
    if style == 5:
        return shape | {"url": "https://example.com/button"}
    if style == 6:
        return {"type": 2, "id": 7, "style": 6, "sku_id": scene.id("sku"), "disabled": False}
    return shape | {"custom_id": f"button {style}", "emoji": {"id": None, "name": "🌊"}}


def _action_row(scene: Scene) -> Raw:
    return _row(*(_button(scene, style) for style in range(1, 6)))


def _button_alone(scene: Scene) -> Raw:
    return _row(_button(scene), _button(scene, 6))


def _menu(number: int, scene: Scene) -> Raw:
    shape = {"type": number, "id": 2, "custom_id": f"menu {number}", "placeholder": scene.words("placeholder", 3)}
    return shape | {"min_values": 1, "max_values": 2, "disabled": False}


def _options(scene: Scene, count: int = 3) -> list[Raw]:
    return [
        {
            "label": scene.words(f"option {place}", 2),
            "value": f"option {place}",
            "description": scene.words(f"about {place}", 4),
            "default": place == 0,
        }
        for place in range(count)
    ]


def _select(scene: Scene) -> Raw:
    options = [one | {"emoji": {"id": None, "name": "⚓"}} for one in _options(scene)]
    return _row(_menu(3, scene) | {"options": options})


def _user_select(scene: Scene) -> Raw:
    return _row(_menu(5, scene) | {"default_values": [{"id": scene.user(0)["id"], "type": "user"}]})


def _role_select(scene: Scene) -> Raw:
    return _row(_menu(6, scene) | {"default_values": [{"id": scene.id("role"), "type": "role"}]})


def _mentionable_select(scene: Scene) -> Raw:
    return _row(_menu(7, scene) | {"default_values": [{"id": scene.user(1)["id"], "type": "user"}]})


def _channel_select(scene: Scene) -> Raw:
    default = [{"id": str(scene.channel.id), "type": "channel"}]
    return _row(_menu(8, scene) | {"channel_types": [0, 5], "default_values": default})


def _text_input(scene: Scene) -> Raw:
    shape = {"type": 4, "id": 2, "custom_id": "input", "style": 1, "label": scene.words("label", 2)}
    shape |= {"placeholder": scene.words("placeholder", 3), "value": scene.words("value")}
    return _row(shape | {"required": True, "min_length": 1, "max_length": 400})


def _text(scene: Scene, what: str = "text", number: int = 2) -> Raw:
    return {"type": 10, "id": number, "content": f"**{scene.words(what, 8)}**"}


def _thumbnail(scene: Scene) -> Raw:
    shape = {"type": 11, "id": 3, "media": {"url": "attachment://thumbnail.png"}}
    return shape | {"description": scene.words("described"), "spoiler": True}


def _section(scene: Scene) -> Raw:
    held = [_text(scene, f"text {place}", 4 + place) for place in range(2)]
    return {"type": 9, "id": 1, "components": held, "accessory": _thumbnail(scene)}


def _gallery(scene: Scene) -> Raw:
    first = {"media": {"url": "attachment://first.png"}, "description": scene.words("first"), "spoiler": False}
    second = {"media": {"url": "attachment://second.png"}, "description": scene.words("second"), "spoiler": True}
    return {"type": 12, "id": 1, "items": [first, second]}


def _file(scene: Scene) -> Raw:
    return {"type": 13, "id": 1, "file": {"url": "attachment://chart.pdf"}, "spoiler": False, "name": "chart.pdf"}


def _separator(scene: Scene) -> Raw:
    return {"type": 14, "id": 1, "divider": True, "spacing": 2}


def _container(scene: Scene) -> Raw:
    held = [_text(scene), _separator(scene), _section(scene), _gallery(scene), _file(scene), _action_row(scene)]
    numbered = [one | {"id": 20 + place} for place, one in enumerate(held)]
    return {"type": 17, "id": 1, "accent_color": 0x2F81F7, "spoiler": False, "components": numbered}


def _label(scene: Scene) -> Raw:
    inner = _text_input(scene)["components"][0]
    return {"type": 18, "id": 1, "label": scene.words("label", 2), "description": scene.words(), "component": inner}


def _file_upload(scene: Scene) -> Raw:
    return {"type": 19, "id": 1, "custom_id": "upload", "min_values": 1, "max_values": 3, "required": True}


def _radio_group(scene: Scene) -> Raw:
    return {"type": 21, "id": 1, "custom_id": "radio", "options": _options(scene), "required": True}


def _checkbox_group(scene: Scene) -> Raw:
    shape = {"type": 22, "id": 1, "custom_id": "boxes", "options": _options(scene), "required": False}
    return shape | {"min_values": 0, "max_values": 3}


def _checkbox(scene: Scene) -> Raw:
    return {"type": 23, "id": 1, "custom_id": "box", "default": True}


COMPONENTS: dict[str, Maker] = {
    "action_row": _action_row,
    "button": _button_alone,
    "select": _select,
    "text_input": _text_input,
    "user_select": _user_select,
    "role_select": _role_select,
    "mentionable_select": _mentionable_select,
    "channel_select": _channel_select,
    "section": _section,
    "text_display": _text,
    "thumbnail": lambda scene: {**_section(scene), "components": [_text(scene)]},
    "media_gallery": _gallery,
    "file": _file,
    "separator": _separator,
    "container": _container,
    "label": _label,
    "file_upload": _file_upload,
    "radio_group": _radio_group,
    "checkbox_group": _checkbox_group,
    "checkbox": _checkbox,
}
"""A top-level component that is, or holds, one of each type, by the name that discord.py has for the type."""

_FILES: dict[str, Raw] = {
    "thumbnail.png": {"content_type": "image/png", **PICTURE_SIZE},
    "first.png": {"content_type": "image/png", **PICTURE_SIZE},
    "second.png": {"content_type": "image/png", **PICTURE_SIZE},
    "chart.pdf": {"content_type": "application/pdf"},
}
_OLD = frozenset({1, 4})


def _with(make: Maker) -> Maker:
    def made(scene: Scene) -> Raw:
        component = make(scene)
        used = str(component)
        files = [{"filename": name, **more} for name, more in _FILES.items() if f"attachment://{name}" in used]
        if component["type"] in _OLD:
            return {"content": scene.words(), "components": [component], "attachments": files}
        return {"content": "", "flags": IS_V2, "components": [component], "attachments": files}

    return made


MAKERS: dict[str, Maker] = {f"component_{name}": _with(make) for name, make in COMPONENTS.items()}
