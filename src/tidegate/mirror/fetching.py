"""The parts of a set brought here one after the other, hashed, and gone again as soon as they are of no more use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tidegate.clock import Clock
from tidegate.lanes import Lane
from tidegate.mirror.downloading import Download, NotWhole
from tidegate.mirror.failing import failing_as
from tidegate.mirror.partial_file import PartialFile
from tidegate.mirror.progress import Progress
from tidegate.mirror.remote_file import RemotePart
from tidegate.mirror.sources import renew_handle
from tidegate.mirror.work_folder import WorkFolder
from tidegate.port import FileHandle
from tidegate.rules.retrying import FailureReason
from tidegate.store import accounts, filing
from tidegate.store.contents import Taken, TakenPart
from tidegate.store.database import Database

Source = tuple[int, int]
"""A part by its message and its file."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What work on a set is done with; *cycle* says on the ledger what the calls were for."""

    lane: Lane
    database: Database
    clock: Clock
    work: WorkFolder
    cycle: int | None


class Fetching:
    """The parts of one set: at most one of them lies on the disk at a time."""

    def __init__(self, tools: Tools, taken: Taken) -> None:
        self.progress = Progress(tools.database, tools.clock, taken)
        self._tools = tools
        self._taken = taken
        self._handles = {source_of(part): part.handle for part in taken.parts}
        self._digests = {source_of(part): part.sha256 for part in taken.parts if part.sha256 is not None}
        self._here: tuple[Source, PartialFile] | None = None

    @property
    def digests(self) -> list[bytes]:
        """The digests of the first parts, as far as they are known without a hole."""
        found: list[bytes] = []
        for part in self._taken.parts:
            if source_of(part) not in self._digests:
                break
            found.append(self._digests[source_of(part)])
        return found

    async def handle(self, part: TakenPart, *, worn: FileHandle | None = None) -> FileHandle:
        """What a part is read and copied by; its message is fetched again when there is none but a *worn* one."""
        known = self._handles.get(source_of(part))
        return await self._renew(_remote(part, None)) if known is None or known == worn else known

    async def hash_first(self) -> None:
        """Know the digest of the first part; the part stays here."""
        first = self._taken.parts[0]
        if source_of(first) not in self._digests:
            await self.fetch(first)

    async def hash_all(self) -> None:
        """Know the digests of all parts, having kept none of them unless it is the only one."""
        for part in self._taken.parts:
            if source_of(part) not in self._digests:
                await self.fetch(part)
                if len(self._taken.parts) > 1:
                    await self.drop()

    async def fetch(self, part: TakenPart) -> PartialFile:
        """A part whole and hashed on our disk; the one before it goes."""
        source = source_of(part)
        if self._here is not None and self._here[0] == source:
            return self._here[1]
        await self.drop()
        tools = self._tools
        place = tools.work.place(self._taken.archive, self._taken.parts.index(part) + 1, part.name)
        found = PartialFile(place, file=part.file, size=part.size, host=tools.work.host)
        with failing_as(FailureReason.DOWNLOAD):
            if not await asyncio.to_thread(lambda: found.is_whole):
                await self._download(part, found)
            await self._know(part, await asyncio.to_thread(found.digest), found)
        self._here = (source, found)
        return found

    async def drop(self) -> None:
        """Remove the part that is here."""
        if self._here is not None:
            here, self._here = self._here[1], None
            await asyncio.to_thread(here.drop)

    async def _download(self, part: TakenPart, into: PartialFile) -> None:
        tools = self._tools
        await asyncio.to_thread(into.open)
        try:
            with tools.work.room(into.left):
                self.progress.begin("downloading", part.name, size=into.size, done=into.size - into.left)
                remote = _remote(part, self._handles.get(source_of(part)))
                download = Download(tools.lane, remote, self._renew, cycle=tools.cycle, tell=self.progress.add)
                await download.into(into)
        finally:
            into.close()

    async def _know(self, part: TakenPart, digest: bytes, found: PartialFile) -> None:
        known = self._digests.get(source_of(part))
        if known is not None and known != digest:
            await asyncio.to_thread(found.drop)
            raise NotWhole(f"{part.name} has other bytes than when it was read before; it is read once more.")
        if known is None:
            async with self._tools.database.transaction() as connection:
                await accounts.fence(connection, self._tools.lane.claim())
                await filing.keep_digest(connection, self._taken.archive, part, digest)
            self._digests[source_of(part)] = digest

    async def _renew(self, part: RemotePart) -> FileHandle:
        tools = self._tools
        handle = await renew_handle(tools.lane, tools.database, self._taken, part, cycle=tools.cycle)
        self._handles[part.message, part.file] = handle
        return handle


def source_of(part: TakenPart) -> Source:
    return part.message, part.file


def _remote(part: TakenPart, handle: FileHandle | None) -> RemotePart:
    return RemotePart(part.message, part.file, part.size, handle)
