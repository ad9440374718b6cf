"""Pictures of people and servers on Discord's CDN, by the name that Discord gives each. Pure."""

from __future__ import annotations

import re
from typing import Literal

from tidegate.core.ids import FileId
from tidegate.core.message_content import Avatar
from tidegate.platforms.discord.messages.files import CDN, derived_number

_NAME = re.compile(r"\w{1,64}", re.ASCII)


def avatar_of(place: Literal["avatars", "icons"], owner: int, name: object) -> Avatar | None:
    """A picture as a still; None where there is none. Another picture has another *name*."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return None
    path = f"{place}/{owner}/{name}"
    return Avatar(owner, FileId(derived_number(path)), f"{CDN}/{path}.webp?size=256")
