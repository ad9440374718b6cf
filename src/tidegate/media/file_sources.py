"""The files of a batch on their platform: read by handles that are renewed together, a hundred messages a call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.handle_renewal import RENEWALS
from tidegate.core.errors import Refused
from tidegate.core.ids import FileId, MessageId
from tidegate.database.pool import Database
from tidegate.lanes import Lane
from tidegate.media.file_decisions import SAFETY, facts_of, files_in, still_of
from tidegate.media.queries import media_files
from tidegate.media.queries.media_files import RenewedHandle, WantedFile
from tidegate.media.queries.media_rules import MediaPolicy
from tidegate.media.rules.media_policy import FilePart, MediaPlace, MediaVerdict, PolicyKind, SkipReason, decide_file
from tidegate.platforms.interface import File, FileHandle, FileRole, HandleExpired, Message, PhotoSize

MESSAGES_A_CALL = 100

_NAMED = (FileRole.EMOJI, FileRole.REACTION)
"""Files that a message may only name, so that they have to be asked for."""


class SourceLost(Exception):
    """The message of a file no longer exists, or no longer shows it."""


class NotKept(Exception):
    """Its message shows that the policy does not want the file, or that it is larger than the policy allows."""

    def __init__(self, reason: SkipReason) -> None:
        self.reason = reason
        super().__init__(reason.value)


class FileSources:
    """The handles of a batch, all from one channel. A message is read again once for all that wait for it."""

    def __init__(
        self, lane: Lane, database: Database, wanted: Sequence[WantedFile], policy: MediaPolicy, place: MediaPlace
    ) -> None:
        self._lane = lane
        self._database = database
        self._policy = policy
        self._place = place
        self._channel = wanted[0].number
        self._open = {one.file: one for one in wanted if one.kind is not PolicyKind.AVATAR}  # theirs do not expire
        self._handles: dict[FileId, FileHandle] = {one.file: one.handle for one in wanted if one.handle}
        self._expected = {one.file: one.expected for one in wanted}
        self._stills = {one.file: PhotoSize(one.still_size, one.still) for one in wanted if one.still}
        self._verdicts: dict[FileId, SkipReason | None] = {}  # None where the file is lost
        self._renewing = asyncio.Lock()

    def expected(self, one: WantedFile) -> int:
        """The announced size, as its message said last; 0 where nobody says."""
        return self._expected[one.file]

    def still(self, one: WantedFile) -> PhotoSize | None:
        """The platform's small picture of a file that is wanted whole, where there is one."""
        return self._stills.get(one.file) if one.part is FilePart.WHOLE else None

    def done(self, one: WantedFile) -> None:
        """Nobody needs the handle of this file any more."""
        self._open.pop(one.file, None)

    async def handle(self, one: WantedFile, *, expired: FileHandle | None = None) -> FileHandle:
        """A handle other than the *expired* one; ``SourceLost`` or ``NotKept`` when the message says so."""
        known = self._handles.get(one.file)
        if known is not None and known != expired and one.file not in self._verdicts:
            return known  # who has one does not wait for those that are renewed
        async with self._renewing:
            known = self._handles.get(one.file)
            if (known is None or known == expired) and one.file not in self._verdicts:
                await self._renew()
            if one.file in self._verdicts:
                reason = self._verdicts[one.file]
                raise SourceLost if reason is None else NotKept(reason)
            if one.file not in self._handles:
                raise Refused("The platform said nothing about the message of this file.")
            return self._handles[one.file]

    async def _renew(self) -> None:
        """Read the messages of all files that are still open, and take their new handles."""
        shown = await self._read(sorted({one.message for one in self._open.values()}, reverse=True))
        emoji = await self._emoji(shown)
        renewed: list[RenewedHandle] = []
        for one in self._open.values():
            if one.message not in shown:
                self._handles.pop(one.file, None)
                continue
            message = shown[one.message]
            file = None if message is None else emoji.get(one.file) or _file_in(message, one.file)
            if message is None or file is None or (file.role in _NAMED and not file.handle):
                self._verdicts[one.file] = None
                continue
            verdict = decide_file(self._policy.state, self._policy.rules, self._place, facts_of(message, file))
            if verdict.part is not one.part:
                self._verdicts[one.file] = _reason(verdict)
                continue
            renewed.append(self._take(one, file))
        async with owned_transaction(self._database, self._lane.claim()) as connection:
            await media_files.keep_handles(connection, self._place.platform, self._lane.account.id, renewed)

    async def _emoji(self, shown: Mapping[MessageId, Message | None]) -> Mapping[FileId, File]:
        """The files of custom emoji among the open ones, which their messages only name."""
        named = {
            one.file
            for one in self._open.values()
            if (message := shown.get(one.message)) is not None
            and (file := _file_in(message, one.file)) is not None
            and file.role in _NAMED
            and not file.handle
        }
        return await self._lane.emoji_files(sorted(named)) if named else {}

    def _take(self, one: WantedFile, file: File) -> RenewedHandle:
        part = file.picture if one.part is FilePart.THUMBNAIL and file.picture is not None else file
        self._handles[one.file], self._expected[one.file] = part.handle, part.size
        still = still_of(file)
        if still is not None:
            self._stills[one.file] = still
        return RenewedHandle(one.file, part.handle, part.size, _until(file.valid_until), still)

    async def _read(self, numbers: Sequence[MessageId]) -> Mapping[MessageId, Message | None]:
        """The messages; a platform that pages answers for some of them at a time, the newest first."""
        shown: dict[MessageId, Message | None] = {}
        left = list(numbers)
        while left:
            found = await self._lane.messages(self._channel, left[:MESSAGES_A_CALL], background=True)
            if not found:
                break
            shown.update(found)
            left = [number for number in left if number not in shown]
        return shown


class FileSource:
    """One file of a batch (``ReadsRanges``), or the *still* of it."""

    def __init__(self, lane: Lane, sources: FileSources, one: WantedFile, *, still: bool = False) -> None:
        self._lane = lane
        self._sources = sources
        self._one = one
        self._still = still

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes at *offset*, fewer only at the end of the file. An expired handle is renewed and is no failure."""
        expired: FileHandle | None = None
        for _ in range(RENEWALS + 1):
            handle = await self._sources.handle(self._one, expired=expired)
            still = self._sources.still(self._one) if self._still else None
            read = handle if still is None else still.handle  # both are renewed together
            try:
                return await self._lane.read_file(read, offset=offset, length=length, background=True)
            except HandleExpired:
                expired = handle
        raise Refused("The platform's references to this file expire as soon as they are given out.")


def _file_in(message: Message, number: FileId) -> File | None:
    return next((file for file in files_in(message) if file.id == number), None)


def _reason(verdict: MediaVerdict) -> SkipReason:
    """Why a file is not fetched as it was wanted; another part of it is wanted by the next look at the policy."""
    return verdict.reason or (SkipReason.SIZE if verdict.part is FilePart.THUMBNAIL else SkipReason.UNDECIDED)


def _until(valid_until: datetime | None) -> datetime | None:
    return None if valid_until is None else valid_until - SAFETY
