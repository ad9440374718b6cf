"""Small still pictures of pictures, drawn by a child process with limits.

Invariant: nothing-blocks-the-loop.
"""

from __future__ import annotations

import asyncio
import platform
from dataclasses import dataclass

from tidegate.core.child_protocol import Frame, pack
from tidegate.core.errors import TidegateError
from tidegate.core.sandbox.limited_child import LimitedChild, LimitExceeded
from tidegate.media.rules.content_type import HEAD, content_type

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
"""The types of which thumbnails are made."""

DRAWN_AS = "image/webp"

_WAITED_A_SECOND = 5  # of processor time, on a machine that also runs other work
_LEAST_WAITED = 5
_LONGEST_REASON = 200


class NoThumbnail(TidegateError):
    """No thumbnail can be made of these bytes; the sentence says why."""


@dataclass(frozen=True, slots=True)
class ThumbnailLimits:
    """Limits for one picture: *bytes* of its file, *pixels* of it, and what the child may take.

    *edge* is the longer side of the thumbnail, *drawn* how many bytes it may have.
    """

    bytes: int = 32 * 1024 * 1024
    pixels: int = 50_000_000
    memory: int = 640 * 1024 * 1024
    seconds: int = 10
    edge: int = 480
    drawn: int = 1024 * 1024


LIMITS = ThumbnailLimits()


class Thumbnailer:
    """Draws thumbnails one after the other with one child, and with a new one after it exceeded a limit.

    *children* is how many were started so far.
    """

    def __init__(self, limits: ThumbnailLimits = LIMITS) -> None:
        self.children = 0
        self._limits = limits
        self._child: LimitedChild | None = None

    async def __aenter__(self) -> Thumbnailer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end_child()

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
        if self._child is None:
            self._child = await LimitedChild.start("tidegate.media.thumbnail_child", cannot_start=_cannot_start)
            self.children += 1
        child, answered = self._child, False
        job = {
            "kind": kind, "edge": limits.edge, "pixels": limits.pixels, "memory": limits.memory,
            "seconds": limits.seconds,
        }  # fmt: skip
        try:
            await child.send(await asyncio.to_thread(pack, job, content))  # a copy of many megabytes
            answer = await child.receive(_LEAST_WAITED + _WAITED_A_SECOND * limits.seconds)
            answered = True
        except LimitExceeded as problem:
            raise NoThumbnail("The picture needs more memory or time than allowed.") from problem
        finally:
            if not answered:  # it is still busy, or dead
                await self._end_child()
        return answer

    async def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()


def _cannot_start(why: str) -> str:
    return f"Thumbnails wait: the process that draws them cannot be started on {platform.node()}: {why}."
