"""The search for preview pictures of archives after a cycle: the photo that was posted along with a set.

Photos are known from stored messages. Where only documents were searched for, one search for photos around the sets
fills the gap. A set is complete without a picture, so an error here is not a failure of the set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from tidegate.accounts.queries import accounts
from tidegate.archives.queries import previews
from tidegate.archives.queries.previews import SetsWithoutPreview
from tidegate.archives.rules.preview_choice import (
    LARGEST,
    PreviewPhoto,
    PreviewSubject,
    choose_photo,
    decisive,
    is_past_window,
    picture_type,
    stretches,
)
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, PlatformError, Refused
from tidegate.core.ids import ArchiveId, CycleNumber, MessageId, Span
from tidegate.core.platform_call import IDS_A_CALL
from tidegate.database.pool import Database, now_of
from tidegate.history.queries import coverage, messages
from tidegate.history.rules.coverage import Content, Coverage
from tidegate.lanes import Lane
from tidegate.platforms.interface import File, FileKind, FileSearch, Message

log = structlog.get_logger()

MOST_SETS = 200
"""Maximum number of sets checked in one run."""


@dataclass(slots=True)
class PreviewBudget:
    """The result of one run: how many pictures it *kept*, and how many calls are *left*.

    The *reserved* calls are not used for searching, so that a run that finds a picture can also fetch it.
    """

    left: int
    reserved: int
    kept: int = 0
    stopped: bool = False


async def find_previews(lane: Lane, database: Database, *, calls: int, cycle: CycleNumber | None = None) -> int:
    """Find pictures for sets that have none, with at most *calls* calls; returns how many were stored.

    The newest sets come first. When the calls are used up, or the platform has an outage, the rest waits for the next
    run.
    """
    if calls < 1:
        return 0
    budget = PreviewBudget(left=calls, reserved=calls // 2)
    async with database.connection() as connection:
        wanted = await previews.wanted(connection, lane.account.id, most=MOST_SETS)
    for gallery in wanted:
        if budget.left > 0 and not budget.stopped:
            await _Look(lane, database, cycle, gallery, budget).run()
    return budget.kept


@dataclass(slots=True)
class _Look:
    """The sets of one channel. *asking* are those that a call is made for, *unseen* those not searched for yet."""

    lane: Lane
    database: Database
    cycle: CycleNumber | None
    gallery: SetsWithoutPreview
    budget: PreviewBudget
    asking: Sequence[PreviewSubject] = ()
    unseen: set[ArchiveId] = field(default_factory=set)

    async def run(self) -> None:
        try:
            chosen = await self._choose()
            for start in range(0, len(chosen), IDS_A_CALL):
                await self._fetch(chosen[start : start + IDS_A_CALL])
        except ENDS_CYCLE:
            raise
        except PlatformError as problem:
            log.warning("previews.put_off", channel=self.gallery.channel, problem=str(problem))
            self.budget.stopped = _is_everybodys(problem)
            for one in () if self.budget.stopped else self.asking:
                await self._give_up(one, None, str(problem), final=False)

    # The choice of a photo

    async def _choose(self) -> list[tuple[PreviewSubject, PreviewPhoto]]:
        """The photo of each set that has one; sets that certainly have none are marked as done."""
        subjects = self.gallery.subjects
        async with self.database.connection() as connection:
            now = await now_of(connection)
            seen = (await coverage.load(connection, self.gallery.key))[Content.MESSAGES]
            known = await previews.photos(connection, self.gallery.key, stretches(subjects))
        hidden = [one for one in subjects if self._is_hidden(one, choose_photo(one, known), seen)]
        self.unseen |= {one.archive for one in hidden if not is_past_window(one, now)}
        await self._search([one for one in hidden if is_past_window(one, now)])
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            photos = await previews.photos(connection, self.gallery.key, stretches(subjects))
            found = [(one, choose_photo(one, photos)) for one in subjects if one.archive not in self.unseen]
            none = [one.archive for one, photo in found if photo is None and is_past_window(one, now)]
            await previews.end_search(connection, none)
        return [(one, photo) for one, photo in found if photo is not None]

    def _is_hidden(self, subject: PreviewSubject, chosen: PreviewPhoto | None, seen: Coverage) -> bool:
        """Whether a better photo may exist near a set without being stored here."""
        low, high = decisive(subject, chosen, newest=self.gallery.newest)
        return bool(seen.gaps(start=low, head=high))

    async def _search(self, hidden: Sequence[PreviewSubject]) -> None:
        """Search for photos around sets, the newest first, and store their messages."""
        self.asking = hidden
        for span in reversed(stretches(hidden)):
            reached = await self._search_through(span)
            self.unseen |= {one.archive for one in hidden if span.low <= one.reach.low < min(reached, span.high)}

    async def _search_through(self, span: Span) -> int:
        """How far down a search for photos got; the low end of *span* when it is complete."""
        before = span.high + 1
        while self.budget.left > self.budget.reserved:
            self.budget.left -= 1
            search = FileSearch(FileKind.PHOTO, before=MessageId(before), above=MessageId(span.low - 1))
            page = await self.lane.files(self.gallery.channel, search, cycle=self.cycle)
            await self._keep_messages(page.messages)
            if page.ended:
                return span.low
            before = min(message.id for message in page.messages)
        return before

    async def _keep_messages(self, shown: Sequence[Message]) -> None:
        """Store messages of photos, except in topics without a set: the operator may follow only selected topics."""
        topics = {one.topic for one in self.gallery.subjects}
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await messages.store(connection, self.gallery.key, [one for one in shown if (one.topic or 0) in topics])

    # The picture

    async def _fetch(self, chosen: Sequence[tuple[PreviewSubject, PreviewPhoto]]) -> None:
        """Fetch the photos' messages to get valid handles, then the pictures one by one."""
        chosen = chosen[: max(0, self.budget.left - 1)]  # a message without its picture is useless
        if not chosen:
            return
        self.budget.left -= 1
        self.asking = [subject for subject, _ in chosen]
        ids = sorted({MessageId(photo.message) for _, photo in chosen})
        shown = await self.lane.messages(self.gallery.channel, ids, cycle=self.cycle)
        for subject, photo in chosen:
            if self.budget.left < 1 or self.budget.stopped:
                return
            await self._fetch_one(subject, photo, shown)

    async def _fetch_one(
        self, subject: PreviewSubject, photo: PreviewPhoto, shown: Mapping[MessageId, Message | None]
    ) -> None:
        message = shown.get(MessageId(photo.message))
        file = next((one for one in message.files if one.kind is FileKind.PHOTO), None) if message else None
        if file is None:
            await self._give_up(subject, photo, "Its message is no longer there.", final=True)
            return
        try:
            content = await self._read(file)
        except ENDS_CYCLE:
            raise
        except PlatformError as problem:
            self.budget.stopped = _is_everybodys(problem)
            await self._give_up(subject, photo, str(problem), final=False)
            return
        mime = picture_type(content)
        if mime is None:
            await self._give_up(subject, photo, "It is no JPEG, PNG or WebP picture of at most 1 MiB.", final=True)
            return
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await previews.keep(connection, subject.archive, photo.message, content, mime)
        self.budget.kept += 1

    async def _read(self, file: File) -> bytes:
        """The picture in a medium size, where the platform has several; nothing for one that is too large."""
        size, handle = (file.picture.size, file.picture.handle) if file.picture else (file.size, file.handle)
        if size > LARGEST:
            return b""
        self.budget.left -= 1
        content = await self.lane.read_file(handle, offset=0, length=LARGEST, cycle=self.cycle)
        if len(content) < size:
            raise Refused(f"The platform gave {len(content)} of {size} bytes.")
        return content

    async def _give_up(self, subject: PreviewSubject, photo: PreviewPhoto | None, trouble: str, *, final: bool) -> None:
        message = photo.message if photo else None
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await previews.note_trouble(connection, subject.archive, message, trouble, final=final)
        log.info("archive.no_preview", archive=subject.archive, message=message, trouble=trouble)


def _is_everybodys(problem: PlatformError) -> bool:
    """Whether the next picture would fail the same way: the platform gave no definite answer about this one."""
    return not isinstance(problem, Refused | ChannelGone)
