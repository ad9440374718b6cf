"""Sample objects of Telegram's schema, one of every class, with every argument filled from its type.

The classes come from the library, so a new one is in every test that walks them.
"""

from __future__ import annotations

from random import Random
from typing import Any

from telethon.extensions import BinaryReader
from telethon.tl import TLObject, types

from tidegate.loopback.telegram.tl_objects.samples import Samples
from tidegate.loopback.telegram.tl_objects.tl_json import SECRETS, as_plain
from tidegate.loopback.telegram.tl_objects.tl_schema import classes_like

MEDIA = classes_like("MessageMedia")
ACTIONS = classes_like("MessageAction")
ENTITIES = classes_like("MessageEntity")


def sample(kind: type[TLObject], seed: int = 1, **given: Any) -> TLObject:
    """An object of this class as a client reads it, all arguments filled; *given* are taken as they are."""
    made: TLObject = BinaryReader(bytes(Samples(Random(seed), full=True).of(kind, **given))).tgread_object()
    return made


_DOCUMENT = sample(
    types.Document,
    attributes=[
        types.DocumentAttributeFilename("boat.mp4"),
        sample(types.DocumentAttributeVideo),
        sample(types.DocumentAttributeAudio),
        sample(types.DocumentAttributeSticker),
        sample(types.DocumentAttributeHasStickers),
    ],
)
_TELLING = {
    types.MessageMediaDocument: {"document": _DOCUMENT},
    types.MessageMediaStory: {"story": sample(types.StoryItem)},
    types.MessageMediaWebPage: {"webpage": sample(types.WebPage)},
    types.MessageMediaPaidMedia: {
        "extended_media": [types.MessageExtendedMedia(types.MessageMediaPhoto(photo=sample(types.Photo)))]
    },
}
"""Where a field takes several kinds of objects, the one that says most."""


def media(kind: type[TLObject]) -> Any:
    """One of a class of media, with every field; where several kinds of objects fit, the one that says most."""
    return sample(kind, **_TELLING.get(kind, {}))


def sample_message(number: int, channel: int, seed: int = 1, **given: Any) -> types.Message:
    """A message of a channel; only *given* fields are set beside id, date and text."""
    date = sample(types.MessageEntityFormattedDate, seed).date
    fields: dict[str, Any] = {"message": "harbour lantern", **given}
    return types.Message(number, types.PeerChannel(channel), date, **fields)


def content(value: Any) -> Any:
    """A value as JSON without what belongs to one account: what has to be equal for two who read it."""
    return as_plain(value, without=SECRETS)
