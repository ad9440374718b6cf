"""What messages lead to, and clients ask for beside them: sticker sets and stories."""

from __future__ import annotations

from telethon.tl import types

from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.world.content.custom_emoji import know_emoji

_OWN_SETS = {types.InputStickerSetPremiumGifts: "PremiumGifts", types.InputStickerSetTonGifts: "TonGifts"}
"""The sets of the platform itself, which clients show beside gifts."""


def get_sticker_set(request: Request) -> Answer:
    """A set of the platform's own has one sticker. Sets of people are not kept, as if they had been deleted."""
    world, viewer = request.world, request.account
    name = _OWN_SETS.get(type(request.query.stickerset))
    if name is None:
        raise Refusal(400, "STICKERSET_INVALID")
    number = world.token("sticker set", name) & 0x7FFFFFFF
    stickers = tl_shapes.personal(world, {name: know_emoji(world, number + 1).document}, viewer)
    held = types.StickerSet(number, world.token("set", viewer.id, number), name, name, count=1, hash=0, official=True)
    return types.messages.StickerSet(held, [], [], list(stickers.values()))


def get_stories(request: Request) -> Answer:
    """Stories last a day, and those that messages name are over: none is found."""
    return types.stories.Stories(0, [], [], tl_shapes.users(request.world, request.account))


METHODS: dict[str, Method] = {
    "messages.getStickerSet": get_sticker_set,
    "stories.getStoriesByID": get_stories,
}
