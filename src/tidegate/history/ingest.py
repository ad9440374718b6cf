"""Stores a page: messages, the archives and files among them, and topics, all in the transaction of the page.

Invariant: page-and-progress-together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidegate.archives.queries import archive_sets
from tidegate.archives.queries.archive_sets import OPEN, Handles, KeptSet
from tidegate.archives.rules.file_names import ArchiveKind, read_name
from tidegate.archives.rules.set_assembly import ArchivePart, ArchiveSet, drop_message, place_archive_part
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import AccountId, ArchiveId, ChannelKey, FileId, MessageId, TopicId
from tidegate.database.pool import Connection, now_of
from tidegate.history.queries import deletions, message_patches, messages
from tidegate.history.queries.messages import StoredPage
from tidegate.media import avatars
from tidegate.media.file_decisions import note_files
from tidegate.people.queries import people
from tidegate.platforms.interface import ChannelUpdates, FileHandle, FileKind, Message, Topic
from tidegate.scans.queries import topic_titles
from tidegate.scans.queries.scan_memory import ScanPlace

_TAKES_PARTS = (*OPEN, "failed", "given_up")
"""A set in another state is being delivered or was: a part that comes now begins a new set."""

Name = tuple[TopicId, ArchiveKind, str]


@dataclass(slots=True)
class IngestTally:
    """What a scan has stored so far. *files* are parts of archives, *archives* the sets they opened.

    Of messages that were stored before, *edited* had another text or file, and *deleted* are gone.
    """

    messages: int = 0
    edited: int = 0
    deleted: int = 0
    files: int = 0
    archives: int = 0
    untitled: set[TopicId] = field(default_factory=set)

    def add(self, other: IngestTally) -> None:
        """Add what another scan has stored."""
        self.messages += other.messages
        self.edited += other.edited
        self.deleted += other.deleted
        self.files += other.files
        self.archives += other.archives


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file of a message that belongs to an archive, by its name."""

    name: Name
    part: ArchivePart


async def take_in(
    connection: Connection,
    place: ScanPlace,
    updates: ChannelUpdates,
    reader: AccountId,
    tally: IngestTally,
    *,
    asked_at: datetime | None = None,
) -> None:
    """Store what a page or a push update brought. What is already stored changes nothing, so pages may overlap.

    *asked_at* is the database's time (``clock_now()``) before a page was requested: only such a page restores a message
    that was deleted before. A push update has none, and restores none.
    """
    if updates.brings_nothing:
        return
    received = [*updates.posted, *updates.edited]
    stored = await messages.store(connection, place.key, received, asked_at=asked_at) if received else StoredPage()
    parts = await message_patches.versions(connection, place.key, updates.patched) if updates.patched else []
    stored |= await messages.store(connection, place.key, parts) if parts else StoredPage()
    shown_now = await message_patches.previewed(connection, place.key, updates.previewed) if updates.previewed else []
    stored |= await messages.store(connection, place.key, shown_now) if shown_now else StoredPage()
    if updates.reacted:
        await message_patches.react(connection, place.key, updates.reacted)
    if updates.voted:
        await message_patches.vote(connection, place.key, updates.voted)
    if updates.recounted:
        await message_patches.recount(connection, place.key, updates.recounted)
    if updates.reacted or updates.recounted:
        await _picture_reactions(connection, place, updates, reader)
    await people.store(connection, place.key, [one.person for one in (*received, *parts) if one.person is not None])
    gone = frozenset(await deletions.mark_deleted(connection, place.key, updates.deleted) if updates.deleted else ())
    shown = {message.id: message for message in (*received, *parts, *shown_now)}
    new = [message for number, message in sorted(shown.items()) if number in stored.added | stored.changed]
    if stored.changed or gone:
        await drop_archive_parts(connection, place.key, {number: shown[number] for number in stored.changed}, gone)
    now = await now_of(connection)
    files, opened = await _place(connection, place, [one for one in new if one.id not in gone], reader, now)
    await avatars.note_authors(connection, place.key, [*received, *parts])
    completed = [shown[number] for number in sorted(stored.completed - stored.added - stored.changed)]
    await note_files(connection, place.key, reader, [one for one in (*new, *completed) if one.id not in gone])
    tally.messages += len(stored.added)
    tally.edited += len(stored.changed)
    tally.deleted += len(gone)
    tally.files += files
    tally.archives += opened
    if place.forum:
        await _note_topics(connection, place, shown.values(), gone, tally)
    for message in received:
        if message.moved_to is not None:
            await channels.note_moved(connection, place.key, message.moved_to)


async def _picture_reactions(
    connection: Connection, place: ScanPlace, updates: ChannelUpdates, reader: AccountId
) -> None:
    """Note the custom emoji of reactions that came without their message."""
    shown = [(one.message, one.picture) for one in updates.reacted if one.picture is not None]
    shown += [(one.message, file) for one in updates.recounted for file in one.pictures]
    new = await message_patches.picture_reactions(connection, place.key, shown) if shown else []
    if new:
        now = await now_of(connection)
        told = [Message(number, now, "", "", further_files=(file,)) for number, file in new]
        await note_files(connection, place.key, reader, told)


# Archives


async def drop_archive_parts(
    connection: Connection, key: ChannelKey, changed: Mapping[MessageId, Message], gone: Collection[MessageId]
) -> None:
    """Remove parts of archives whose message was deleted or now carries another file.

    A set that no worker has begun on loses the part. One that is delivered, or on its way, is kept as it is and
    flagged.
    """
    touched = [*changed, *gone]
    kept = await archive_sets.with_messages(connection, key, touched)
    if not kept:
        return
    smaller: list[KeptSet] = []
    deleted: list[ArchiveId] = []
    replaced: list[ArchiveId] = []
    for one in kept:
        left = one.set
        for number in touched:
            left = drop_message([left], number, kept=_files_of(changed.get(number)))[0]
        if left == one.set:
            continue
        smaller += [replace(one, set=left)] if one.state in OPEN else []
        if one.id is not None and one.state not in OPEN:
            (deleted if _lost_by(one.set, left, gone) else replaced).append(one.id)
    await archive_sets.save(connection, key, smaller)
    await archive_sets.flag(connection, deleted, "source_deleted")
    await archive_sets.flag(connection, replaced, "source_replaced")


def _files_of(message: Message | None) -> list[FileId]:
    return [] if message is None else [file.id for file in message.files]


def _lost_by(before: ArchiveSet, after: ArchiveSet, gone: Collection[MessageId]) -> bool:
    """Whether a deletion took a part, and not an edit."""
    left = {(part.message, part.file) for part in after.parts.values()}
    return any(part.message in gone for part in before.parts.values() if (part.message, part.file) not in left)


async def _place(
    connection: Connection, place: ScanPlace, new: Sequence[Message], reader: AccountId, now: datetime
) -> tuple[int, int]:
    """Put the archive files of new messages into sets; how many files that were, and how many sets they opened."""
    offered = [one for message in new for one in _offered(message, now)] if place.keep_archives else []
    if not offered:
        return 0, 0
    known = await archive_sets.same_names(connection, place.key, list(dict.fromkeys(one.name for one in offered)))
    before = {name: list(sets) for name, sets in known.items()}
    for one in offered:
        known[one.name] = _with_archive_part(known[one.name], one)
    changed = [
        after
        for name, sets in known.items()
        for number, after in enumerate(sets)
        if number >= len(before[name]) or after is not before[name][number]
    ]
    handles: dict[tuple[MessageId, FileId], FileHandle] = {
        (message.id, file.id): file.handle for message in new for file in message.files if file.handle
    }
    protected = {message.id for message in new if message.protected}
    kept = [one for one in changed if one.set.parts]
    await archive_sets.save(connection, place.key, kept, Handles(reader, handles, protected))
    await archive_sets.forget(connection, [one.id for one in changed if not one.set.parts and one.id is not None])
    return len(offered), sum(one.id is None and one.set.is_recognised for one in kept)


def _offered(message: Message, now: datetime) -> Iterable[OfferedFile]:
    for file in message.files:
        said = read_name(file.name) if file.kind is FileKind.DOCUMENT else None
        if said is not None:
            part = ArchivePart(
                message.id, file.id, file.name, file.size, message.at, now, sender=message.author, album=message.album
            )
            yield OfferedFile((message.topic or NO_TOPIC, said.kind, said.base), part)


def _with_archive_part(sets: list[KeptSet], offered: OfferedFile) -> list[KeptSet]:
    """The sets of one name with one more part: in a set that may take it, else in one of its own.

    They keep their order. One that became part of another is empty, and new ones come last.
    """
    after, topic = place_archive_part([one.set for one in sets], offered.part), offered.name[0]
    new = [one for one in after if all(one is not kept.set for kept in sets)]
    placed: list[KeptSet] = []
    for kept in sets:
        if any(kept.set is one for one in after):
            placed.append(kept)
            continue
        own = {*kept.set.parts.values()}
        heir = next((one for one in new if own & {*one.parts.values()}), None)
        left = heir or replace(kept.set, parts={}, spares=())
        if kept.state not in _TAKES_PARTS and left.parts != kept.set.parts:  # too late for this set
            return [*sets, *(KeptSet(None, topic, "collecting", one) for one in place_archive_part([], offered.part))]
        new = [one for one in new if one is not heir]
        placed.append(replace(kept, set=left))
    return [*placed, *(KeptSet(None, topic, "collecting", one) for one in new)]


# Topics


async def _note_topics(
    connection: Connection, place: ScanPlace, shown: Iterable[Message], gone: Collection[MessageId], tally: IngestTally
) -> None:
    """Learn topics from the messages themselves: which there are, what they are called, and which are gone."""
    newest: dict[TopicId, MessageId] = {}
    named: dict[TopicId, Topic] = {}
    for message in sorted(shown, key=lambda one: one.id):
        if message.topic is not None:
            newest[message.topic] = message.id
            if message.topic_event is not None and message.topic_event.title:
                named[message.topic] = Topic(message.topic, message.topic_event.title)
    untitled = await topic_titles.note_topics(connection, place.key, newest) if newest else []
    if named:
        await topic_titles.name_topics(connection, place.key, named.values())
    if gone:
        await topic_titles.lose_topics(connection, place.key, gone)
    tally.untitled |= set(untitled) - named.keys()
