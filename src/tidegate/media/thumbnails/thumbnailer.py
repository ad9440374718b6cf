"""Makes thumbnails, small still versions of pictures, in a child process with limits.

Invariant: nothing-blocks-the-loop.
"""

from __future__ import annotations

import asyncio
import platform

from tidegate.core.child_protocol import Frame, pack
from tidegate.core.errors import TidegateError
from tidegate.core.sandbox.limited_child import LimitExceeded, SuccessiveChildren
from tidegate.media.rules.content_type import HEAD, content_type
from tidegate.media.thumbnails.thumbnail_limits import LIMITS, ThumbnailLimits

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
"""The types of which thumbnails are made."""

DRAWN_AS = "image/webp"

_WAITED_A_SECOND = 5  # of processor time, on a machine that also runs other work
_LEAST_WAITED = 5
_LONGEST_REASON = 200


class NoThumbnail(TidegateError):
    """No thumbnail can be made of these bytes; the sentence says why."""


class Thumbnailer(SuccessiveChildren):
    """Draws thumbnails one after the other."""

    def __init__(self, limits: ThumbnailLimits = LIMITS) -> None:
        super().__init__("tidegate.media.thumbnails.thumbnail_child", _cannot_start)
        self._limits = limits

    async def make(self, content: bytes, kind: str) -> bytes:
        """A thumbnail of a picture whose content has the type *kind*.

        ``NoThumbnail`` where there can be none, ``MachineTrouble`` where no child could be started.
        """
        if kind not in PICTURES:
            raise NoThumbnail(f"Thumbnails are not made of {kind or 'this type'}.")
        if len(content) > self._limits.bytes:
            raise NoThumbnail("The file is too large for a thumbnail.")
        answer = await self._asked(content, kind)
        if reason := answer.head.get("refused"):
            raise NoThumbnail(str(reason)[:_LONGEST_REASON])
        drawn = answer.body
        if len(drawn) > self._limits.drawn or content_type(drawn[:HEAD]) != DRAWN_AS:  # the child is not believed
            raise NoThumbnail("The thumbnail was not drawn as expected.")
        return drawn

    async def _asked(self, content: bytes, kind: str) -> Frame:
        limits = self._limits
        job = {
            "kind": kind, "edge": limits.edge, "pixels": limits.pixels, "memory": limits.memory,
            "seconds": limits.seconds,
        }  # fmt: skip
        try:
            async with self.child_at_work() as child:
                await child.send(await asyncio.to_thread(pack, job, content))  # a copy of many megabytes
                return await child.receive(_LEAST_WAITED + _WAITED_A_SECOND * limits.seconds)
        except LimitExceeded as problem:
            raise NoThumbnail("The picture needs more memory or time than allowed.") from problem


def _cannot_start(why: str) -> str:
    return f"Thumbnails wait: the process that draws them cannot be started on {platform.node()}: {why}."
