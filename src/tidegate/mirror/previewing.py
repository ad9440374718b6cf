"""Preview pictures of archives, looked for after a cycle: the photo somebody posted along with a set.

Photos are known from the messages that passed by. Where only documents were searched for, one search for photos around
the sets found closes that hole. A set is as good without a picture, so no trouble here is a failure of a set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from tidegate.errors import ChannelGone, PlatformError, Refused
from tidegate.lanes import Lane
from tidegate.mirror.scan import FINAL, IDS_A_CALL
from tidegate.port import File, FileKind, Message, MessageId
from tidegate.rules.history import Content, Coverage, Span
from tidegate.rules.previewing import (
    LARGEST,
    Photo,
    Subject,
    choose_photo,
    decisive,
    is_settled,
    picture_type,
    stretches,
)
from tidegate.store import accounts, coverage, messages, previews
from tidegate.store.database import Database
from tidegate.store.previews import Gallery

log = structlog.get_logger()

MOST_SETS = 200
"""How many sets are looked at in one turn."""


@dataclass(slots=True)
class Turn:
    """What one turn has done: how many pictures it *kept*, and how many calls are *left* to it.

    Those *reserved* are not spent on searching, so that a turn that finds a picture can fetch it too.
    """

    left: int
    reserved: int
    kept: int = 0
    stopped: bool = False


async def find_previews(lane: Lane, database: Database, *, calls: int, cycle: int | None = None) -> int:
    """Look for the pictures of sets that have none, with so many *calls* at most; how many were kept.

    The newest sets come first. When the calls are used up, or the platform is in trouble, the rest waits for the next
    turn.
    """
    if calls < 1:
        return 0
    turn = Turn(left=calls, reserved=calls // 2)
    async with database.connection() as connection:
        wanted = await previews.wanted(connection, lane.account.id, most=MOST_SETS)
    for gallery in wanted:
        if turn.left > 0 and not turn.stopped:
            await _Look(lane, database, cycle, gallery, turn).run()
    return turn.kept


@dataclass(slots=True)
class _Look:
    """The sets of one channel. *asking* are those that a call is made for, *unseen* those not searched for yet."""

    lane: Lane
    database: Database
    cycle: int | None
    gallery: Gallery
    turn: Turn
    asking: Sequence[Subject] = ()
    unseen: set[int] = field(default_factory=set)

    async def run(self) -> None:
        try:
            chosen = await self._choose()
            for start in range(0, len(chosen), IDS_A_CALL):
                await self._fetch(chosen[start : start + IDS_A_CALL])
        except FINAL:
            raise
        except PlatformError as problem:
            log.warning("previews.put_off", channel=self.gallery.channel, problem=str(problem))
            self.turn.stopped = _is_everybodys(problem)
            for one in () if self.turn.stopped else self.asking:
                await self._give_up(one, None, str(problem), final=False)

    # Which photo

    async def _choose(self) -> list[tuple[Subject, Photo]]:
        """The photo of each set that has one; those that have none for certain are settled."""
        subjects = self.gallery.subjects
        async with self.database.connection() as connection:
            now = await connection.fetchval("SELECT clock_now()")
            seen = (await coverage.load(connection, self.gallery.key))[Content.MESSAGES]
            known = await previews.photos(connection, self.gallery.key, stretches(subjects))
        hidden = [one for one in subjects if self._is_hidden(one, choose_photo(one, known), seen)]
        self.unseen |= {one.archive for one in hidden if not is_settled(one, now)}
        await self._search([one for one in hidden if is_settled(one, now)])
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            photos = await previews.photos(connection, self.gallery.key, stretches(subjects))
            found = [(one, choose_photo(one, photos)) for one in subjects if one.archive not in self.unseen]
            none = [one.archive for one, photo in found if photo is None and is_settled(one, now)]
            await previews.settle(connection, none)
        return [(one, photo) for one, photo in found if photo is not None]

    def _is_hidden(self, subject: Subject, chosen: Photo | None, seen: Coverage) -> bool:
        """Whether a photo that would be preferred may lie near a set without having passed by."""
        low, high = decisive(subject, chosen, newest=self.gallery.newest)
        return bool(seen.gaps(start=low, head=high))

    async def _search(self, hidden: Sequence[Subject]) -> None:
        """Search for photos around sets, the newest first, and keep their messages."""
        self.asking = hidden
        for span in reversed(stretches(hidden)):
            reached = await self._search_through(span)
            self.unseen |= {one.archive for one in hidden if span.low <= one.reach.low < min(reached, span.high)}

    async def _search_through(self, span: Span) -> int:
        """How far down a search for photos got; the low end of *span* when it is complete."""
        before = span.high + 1
        while self.turn.left > self.turn.reserved:
            self.turn.left -= 1
            page = await self.lane.files(
                self.gallery.channel,
                kind=FileKind.PHOTO,
                before=MessageId(before),
                above=MessageId(span.low - 1),
                cycle=self.cycle,
            )
            await self._keep_messages(page.messages)
            if page.ended:
                return span.low
            before = min(message.id for message in page.messages)
        return before

    async def _keep_messages(self, shown: Sequence[Message]) -> None:
        """Store photos' messages, but none of a topic that no set is in: the operator may follow selected ones."""
        topics = {one.topic for one in self.gallery.subjects}
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await messages.store(connection, self.gallery.key, [one for one in shown if (one.topic or 0) in topics])

    # The picture itself

    async def _fetch(self, chosen: Sequence[tuple[Subject, Photo]]) -> None:
        """Fetch the photos' messages for handles that are valid now, then the pictures one by one."""
        chosen = chosen[: max(0, self.turn.left - 1)]  # a message without its picture is of no use
        if not chosen:
            return
        self.turn.left -= 1
        self.asking = [subject for subject, _ in chosen]
        ids = sorted({MessageId(photo.message) for _, photo in chosen})
        shown = await self.lane.messages(self.gallery.channel, ids, cycle=self.cycle)
        for subject, photo in chosen:
            if self.turn.left < 1 or self.turn.stopped:
                return
            await self._fetch_one(subject, photo, shown)

    async def _fetch_one(self, subject: Subject, photo: Photo, shown: Mapping[MessageId, Message | None]) -> None:
        message = shown.get(MessageId(photo.message))
        file = next((one for one in message.files if one.kind is FileKind.PHOTO), None) if message else None
        if file is None:
            await self._give_up(subject, photo, "Its message is no longer there.", final=True)
            return
        try:
            content = await self._read(file)
        except FINAL:
            raise
        except PlatformError as problem:
            self.turn.stopped = _is_everybodys(problem)
            await self._give_up(subject, photo, str(problem), final=False)
            return
        mime = picture_type(content)
        if mime is None:
            await self._give_up(subject, photo, "It is no JPEG, PNG or WebP picture of at most 1 MiB.", final=True)
            return
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await previews.keep(connection, subject.archive, photo.message, content, mime)
        self.turn.kept += 1

    async def _read(self, file: File) -> bytes:
        """The picture in a middle size, where the platform has several; nothing of one that is too large."""
        size, handle = (file.picture.size, file.picture.handle) if file.picture else (file.size, file.handle)
        if size > LARGEST:
            return b""
        self.turn.left -= 1
        content = await self.lane.read_file(handle, offset=0, length=LARGEST, cycle=self.cycle)
        if len(content) < size:
            raise Refused(f"The platform gave {len(content)} of {size} bytes.")
        return content

    async def _give_up(self, subject: Subject, photo: Photo | None, trouble: str, *, final: bool) -> None:
        message = photo.message if photo else None
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await previews.note_trouble(connection, subject.archive, message, trouble, final=final)
        log.info("archive.no_preview", archive=subject.archive, message=message, trouble=trouble)


def _is_everybodys(problem: PlatformError) -> bool:
    """Whether the next picture would meet the same trouble: the platform gave no definite answer about this one."""
    return not isinstance(problem, Refused | ChannelGone)
