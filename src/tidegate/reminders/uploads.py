"""Each file uploaded once per account, and kept for later runs while its platform takes it (seed 002)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidegate.errors import Refused
from tidegate.lanes import Lane
from tidegate.port import Upload, UploadId
from tidegate.port.media import Media, MediaKind, MediaRef
from tidegate.store import media as files
from tidegate.store import uploads
from tidegate.store.database import Database
from tidegate.words import RunId

_BIGGEST_NUMBER = 2**63 - 1


class Uploads:
    """The uploads of one account during one run."""

    def __init__(self, lane: Lane, database: Database, run: RunId, *, dice: Callable[[], float]) -> None:
        self._lane = lane
        self._database = database
        self._run = run
        self._dice = dice
        self._turn = asyncio.Lock()
        self._known: dict[tuple[bytes, MediaKind], MediaRef] = {}
        self._refused: dict[tuple[bytes, MediaKind], Refused] = {}
        self._contents: dict[bytes, bytes] = {}

    @property
    def under_way(self) -> bool:
        """Whether a file is being looked for or uploaded."""
        return self._turn.locked()

    async def once(self, media: Media) -> MediaRef:
        """What to post a file by: from an earlier run, or uploaded now. All who ask meanwhile wait for the one upload.

        A file the platform refuses is not offered again in this run.
        """
        which = (media.sha256, media.kind)
        async with self._turn:
            if which in self._refused:
                raise Refused(str(self._refused[which]))
            if which not in self._known:
                self._known[which] = await self._find(media) or await self._upload(media)
            return self._known[which]

    async def lost(self, media: Media, reference: MediaRef) -> None:
        """The platform no longer takes this reference: whoever asks next has the file uploaded again, once."""
        async with self._turn:
            if self._known.get((media.sha256, media.kind)) == reference:
                del self._known[media.sha256, media.kind]
        async with self._database.connection() as connection:
            await uploads.forget(connection, self._lane.account.id, media.sha256, media.kind, reference)

    async def content(self, media: Media) -> bytes:
        """All of a file, read once a run, for a platform that keeps none and gets it with every message."""
        async with self._turn:
            if media.sha256 not in self._contents:
                async with self._database.connection() as connection:
                    self._contents[media.sha256] = await files.whole(connection, media.sha256)
            return self._contents[media.sha256]

    async def _find(self, media: Media) -> MediaRef | None:
        async with self._database.connection() as connection:
            return await uploads.find(
                connection, self._lane.account.id, media.sha256, media.kind, lasts=self._lane.media_lasts
            )

    async def _upload(self, media: Media) -> MediaRef:
        try:
            reference = await (self._in_parts(media) if self._lane.takes_parts else self._in_one_go(media))
        except Refused as problem:
            self._refused[media.sha256, media.kind] = problem
            raise
        async with self._database.transaction() as connection:
            await uploads.keep(connection, self._lane.claim(), media.sha256, media.kind, reference, run=self._run)
        return reference

    async def _in_one_go(self, media: Media) -> MediaRef:
        async with self._database.connection() as connection:
            content = await files.whole(connection, media.sha256)
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
