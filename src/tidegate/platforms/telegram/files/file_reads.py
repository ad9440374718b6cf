"""Bytes of files: from the data centre that has them, from the delivery network, or Telegram's copy of a picture."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from telethon.tl import functions, types

from tidegate.platforms.interface import FileHandle, FileStep
from tidegate.platforms.telegram.connection import TelegramConnection
from tidegate.platforms.telegram.errors import DeliveryEnded, HeldElsewhere
from tidegate.platforms.telegram.files.delivery_network import BLOCK, DeliveredFile
from tidegate.platforms.telegram.files.file_handles import is_precise, is_web_file

GET, GET_WEB = "read_file", "read_web_file"
GET_DELIVERED, GET_HASHES, REUPLOAD = "read_delivered", "delivery_hashes", "delivery_reupload"

METHODS = {
    GET: "upload.getFile",
    GET_WEB: "upload.getWebFile",
    GET_DELIVERED: "upload.getCdnFile",
    GET_HASHES: "upload.getCdnFileHashes",
    REUPLOAD: "upload.reuploadCdnFile",
}

_MOST_KNOWN = 64
"""How many files on the delivery network are known at a time; one that was forgotten costs a call."""


@dataclass(frozen=True, slots=True)
class LocatedFile:
    """Where Telegram has a file."""

    location: Any  # what Telegram calls it
    centre: int  # the data centre that has it; 0 for pictures on other sites, for which there is one
    number: int


class FileReads:
    """The files that one account reads: each call of a step is one request."""

    def __init__(self, connection: TelegramConnection) -> None:
        self._connection = connection
        self._held_by: dict[int, int] = {}  # files that are in another data centre than Telegram said
        self._delivered: OrderedDict[FileHandle, DeliveredFile] = OrderedDict()

    def step(self, handle: FileHandle, located: Callable[[], LocatedFile], offset: int, length: int) -> FileStep:
        """The next request towards a range of a file. It stays the same whatever others learn meanwhile."""
        found = self._delivered.get(handle)
        if found is not None:
            self._delivered.move_to_end(handle)
            step = self._network_step(found, offset, length)
            return FileStep(step.verb, lambda: self._unless_ended(handle, step))
        if is_web_file(handle):
            return FileStep(GET_WEB, lambda: self._from_web(located(), offset, length))
        return FileStep(GET, lambda: self._from_centre(handle, located(), offset, length))

    async def _unless_ended(self, handle: FileHandle, step: FileStep) -> bytes | None:
        try:
            return await step.call()
        except DeliveryEnded:
            self._delivered.pop(handle, None)
            return None

    async def _from_centre(self, handle: FileHandle, place: LocatedFile, offset: int, length: int) -> bytes | None:
        centre = self._held_by.get(place.number, place.centre)
        request = functions.upload.GetFileRequest(place.location, offset, length, precise=is_precise(offset, length))
        try:
            answer = await self._connection.ask(request, centre=centre)
        except HeldElsewhere as elsewhere:  # the lane repeats the call, which then goes to the right data centre
            self._held_by[place.number] = elsewhere.centre
            raise
        if not isinstance(answer, types.upload.FileCdnRedirect):
            return bytes(answer.bytes)
        self._delivered[handle] = DeliveredFile(answer, centre)
        while len(self._delivered) > _MOST_KNOWN:
            self._delivered.popitem(last=False)
        return None

    def _network_step(self, found: DeliveredFile, offset: int, length: int) -> FileStep:
        """A step towards a block of a delivered file; all but the last give no bytes."""
        start, told = _block(offset), found.reupload
        if told is not None:
            found.reupload = None
            return FileStep(REUPLOAD, lambda: self._reupload(found, told))
        if (missing := found.missing_from(start)) is not None:
            return FileStep(GET_HASHES, lambda: self._learn_hashes(found, missing))
        return FileStep(GET_DELIVERED, lambda: self._from_network(found, start, offset - start, length))

    async def _reupload(self, found: DeliveredFile, told: bytes) -> None:
        request = functions.upload.ReuploadCdnFileRequest(found.token, told)
        found.learn(await self._connection.ask(request, centre=found.home))

    async def _learn_hashes(self, found: DeliveredFile, missing: int) -> None:
        request = functions.upload.GetCdnFileHashesRequest(found.token, missing)
        found.learn(await self._connection.ask(request, centre=found.home), asked_from=missing)

    async def _from_network(self, found: DeliveredFile, start: int, skipped: int, length: int) -> bytes | None:
        request = functions.upload.GetCdnFileRequest(found.token, start, BLOCK)
        answer = await self._connection.ask(request, network=found.centre)
        if isinstance(answer, types.upload.CdnFileReuploadNeeded):
            found.reupload = answer.request_token
            return None
        return found.opened(start, answer.bytes)[skipped:][:length]

    async def _from_web(self, place: LocatedFile, offset: int, length: int) -> bytes:
        """From Telegram's own copy of a picture on another site, which nobody but Telegram is asked for."""
        start = _block(offset)
        request = functions.upload.GetWebFileRequest(place.location, start, BLOCK)
        answer = await self._connection.ask(request, centre=await self._connection.web_file_centre())
        return bytes(answer.bytes)[offset - start :][:length]


def _block(offset: int) -> int:
    return offset - offset % BLOCK
