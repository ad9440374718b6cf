"""Each file is uploaded once per account, and used again by later runs while its platform has it (seed 002).

A failure is shared as well: it is stored per account and file, and every part and run that needs the file waits for the
same next try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from tidegate.core.errors import AskedToWait, Banned, PlatformError, Refused, SignedOut
from tidegate.core.ids import RunId, UploadId
from tidegate.database.pool import Database
from tidegate.lanes import Lane
from tidegate.platforms.interface import Upload
from tidegate.platforms.interface.uploads import Media, MediaKind, MediaRef
from tidegate.reminders.queries import media_files as files
from tidegate.reminders.queries import media_uploads

_BIGGEST_NUMBER = 2**63 - 1

WAITS = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10))
"""How long a file is left alone after the first, the second and any later failure. The lane repeats each try itself."""

MOST_TRIES = 3
"""After this many failures a person decides."""


class UploadFailed(Exception):
    """A file cannot be posted to any target for now: *cause* says why, *wait* when it is tried again.

    Without a wait a person must resume the run.
    """

    def __init__(self, cause: str, wait: timedelta | None) -> None:
        super().__init__(cause)
        self.cause = cause
        self.wait = wait


class RunUploads:
    """The uploads of one account during one run."""

    def __init__(self, lane: Lane, database: Database, run: RunId | None, *, dice: Callable[[], float]) -> None:
        self._lane = lane
        self._database = database
        self._run = run
        self._dice = dice
        self._lock = asyncio.Lock()
        self._known: dict[tuple[bytes, MediaKind], MediaRef] = {}
        self._failed: dict[tuple[bytes, MediaKind], UploadFailed] = {}
        self._contents: dict[bytes, bytes] = {}

    @property
    def under_way(self) -> bool:
        """Whether a file is being searched for or uploaded."""
        return self._lock.locked()

    async def once(self, media: Media) -> MediaRef:
        """What to post a file by: from an earlier run, or uploaded now. Callers that come together wait for one upload.

        ``UploadFailed`` once the upload failed, or while the next try is not due.
        """
        which = (media.sha256, media.kind)
        async with self._lock:
            if which in self._failed:
                raise self._failed[which]
            if which not in self._known:
                try:
                    self._known[which] = await self._found_or_uploaded(media)
                except UploadFailed as failed:
                    self._failed[which] = failed
                    raise
            return self._known[which]

    async def lost(self, media: Media, reference: MediaRef) -> None:
        """The platform no longer takes this reference: the next caller has the file uploaded again, once."""
        async with self._lock:
            if self._known.get((media.sha256, media.kind)) == reference:
                del self._known[media.sha256, media.kind]
        async with self._database.connection() as connection:
            await media_uploads.forget(connection, self._lane.account.id, media.sha256, media.kind, reference)

    async def content(self, media: Media) -> bytes:
        """All of a file, read once a run, for a platform that gets the content with every message."""
        async with self._lock:
            if media.sha256 not in self._contents:
                async with self._database.connection() as connection:
                    self._contents[media.sha256] = await files.content(connection, media.sha256)
            return self._contents[media.sha256]

    async def _found_or_uploaded(self, media: Media) -> MediaRef:
        """The reference of an earlier or a new upload, unless a failure says to wait; a new failure is stored."""
        async with self._database.connection() as connection:
            found = await media_uploads.find(
                connection, self._lane.account.id, media.sha256, media.kind, lasts=self._lane.media_lasts
            )
        if isinstance(found, media_uploads.UploadFailure):
            if found.wait or found.tries >= MOST_TRIES:
                raise UploadFailed(found.cause, found.wait if found.tries < MOST_TRIES else None)
        elif found is not None:
            return found
        try:
            return await self._upload(media)
        except (SignedOut, Banned):
            raise
        except AskedToWait as asked:
            raise UploadFailed(_cause(media, asked), asked.pause) from asked
        except PlatformError as problem:
            raise await self._note_failure(media, problem) from problem

    async def _note_failure(self, media: Media, problem: PlatformError) -> UploadFailed:
        async with self._database.transaction() as connection:
            failure = await media_uploads.note_failure(
                connection, self._lane.account.id, media, _cause(media, problem), WAITS
            )
        final = isinstance(problem, Refused) or failure.tries >= MOST_TRIES
        return UploadFailed(failure.cause, None if final else failure.wait)

    async def _upload(self, media: Media) -> MediaRef:
        reference = await (self._in_parts(media) if self._lane.takes_upload_parts else self._in_one_go(media))
        async with self._database.transaction() as connection:
            await media_uploads.keep(connection, self._lane.claim(), media.sha256, media.kind, reference, run=self._run)
        return reference

    async def _in_one_go(self, media: Media) -> MediaRef:
        async with self._database.connection() as connection:
            content = await files.content(connection, media.sha256)
        return await self._lane.upload(media, content)

    async def _in_parts(self, media: Media) -> MediaRef:
        number = UploadId(1 + int(self._dice() * (_BIGGEST_NUMBER - 1)))
        upload = Upload(number, media.name, media.size, media.mime, part_size=files.PIECE)
        for first in range(0, upload.parts, files.PIECES_AT_ONCE):
            async with self._database.connection() as connection:
                contents = await files.pieces(connection, media.sha256, first)
            for part, content in enumerate(contents, first):
                await self._lane.save_part(upload, part, content)
        return await self._lane.register(upload, media)


def _cause(media: Media, problem: PlatformError) -> str:
    return f'The file "{media.name}" cannot be uploaded: {problem}'
