"""Taking a page in: messages, the archives among them, and topics, all in the transaction of the page (law 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidegate.port import FileHandle, FileKind, Message, MessageId, News, Topic, TopicId
from tidegate.rules.archives import ArchiveSet, Part, drop_message, place_part
from tidegate.rules.history import Content, Span, proven_deleted
from tidegate.rules.naming import Kind, read_name
from tidegate.store import archives, messages, patches, places
from tidegate.store.archives import OPEN, Handles, KeptSet
from tidegate.store.database import Connection
from tidegate.store.messages import Stored
from tidegate.store.places import Place
from tidegate.words import AccountId

_TAKES_PARTS = (*OPEN, "failed", "given_up")
"""A set in another state is being delivered or was: what comes now is a set of its own."""

Name = tuple[int, Kind, str]


@dataclass(slots=True)
class Tally:
    """What a scan has taken in so far. *files* are parts of archives, *archives* the sets they opened.

    Of messages that were stored before, *edited* had another text or file, and *deleted* are gone.
    """

    messages: int = 0
    edited: int = 0
    deleted: int = 0
    files: int = 0
    archives: int = 0
    untitled: set[TopicId] = field(default_factory=set)

    def add(self, other: Tally) -> None:
        """Count what another scan has taken in as well."""
        self.messages += other.messages
        self.edited += other.edited
        self.deleted += other.deleted
        self.files += other.files
        self.archives += other.archives


@dataclass(frozen=True, slots=True)
class Offered:
    """A file of a message that belongs to an archive, by its name."""

    name: Name
    part: Part


async def take_in(
    connection: Connection,
    place: Place,
    news: News,
    reader: AccountId,
    tally: Tally,
    *,
    asked_at: datetime | None = None,
) -> None:
    """Store what a page or a piece of news brought. What is already stored changes nothing, so pages may overlap.

    *asked_at* is the database's instant (``clock_now()``) before a page was asked for: only such a page brings a
    message back that was deleted before. What the platform told by itself has none, and brings none back.
    """
    if not (news.posted or news.edited or news.deleted or news.patched or news.reacted):
        return
    told = [*news.posted, *news.edited]
    stored = await messages.store(connection, place.key, told, asked_at=asked_at) if told else Stored()
    parts = await patches.versions(connection, place.key, news.patched) if news.patched else []
    stored |= await messages.store(connection, place.key, parts) if parts else Stored()
    if news.reacted:
        await patches.react(connection, place.key, news.reacted)
    gone = frozenset(await messages.bury(connection, place.key, news.deleted))
    shown = {message.id: message for message in (*told, *parts)}
    new = [message for number, message in sorted(shown.items()) if number in stored.added | stored.changed]
    await _drop(connection, place, {number: shown[number] for number in stored.changed}, gone)
    now: datetime = await connection.fetchval("SELECT clock_now()")
    files, opened = await _place(connection, place, [one for one in new if one.id not in gone], reader, now)
    tally.messages += len(stored.added)
    tally.edited += len(stored.changed)
    tally.deleted += len(gone)
    tally.files += files
    tally.archives += opened
    await _note_topics(connection, place, shown.values(), gone, tally)


async def with_vanished(connection: Connection, key: int, news: News, span: Span | None) -> News:
    """News without a gap, with what it proves deleted in its stretch by not showing it.

    A message that was told behind a gap, and deleted within it, is never told of again.
    """
    if span is None:
        return news
    stored = await messages.between(connection, key, span.low, span.high)
    gone = proven_deleted(stored, {one.id for one in news.posted}, span, Content.MESSAGES) - set(news.deleted)
    return replace(news, deleted=[*news.deleted, *(MessageId(number) for number in sorted(gone))])


# Archives


async def _drop(
    connection: Connection, place: Place, changed: dict[MessageId, Message], gone: Collection[MessageId]
) -> None:
    """Let go of parts whose message was deleted or now carries another file.

    A set that nobody works on loses the part. One that is delivered, or on its way, is kept as it is and marked.
    """
    touched = [*changed, *gone]
    kept = await archives.with_messages(connection, place.key, touched) if touched else []
    smaller: list[KeptSet] = []
    deleted: list[int] = []
    replaced: list[int] = []
    for one in kept:
        left = one.set
        for number in touched:
            left = drop_message([left], number, kept=_files_of(changed.get(number)))[0]
        if left == one.set:
            continue
        smaller += [replace(one, set=left)] if one.state in OPEN else []
        if one.id is not None and one.state not in OPEN:
            (deleted if _lost_by(one.set, left, gone) else replaced).append(one.id)
    await archives.save(connection, place.key, smaller)
    await archives.flag(connection, deleted, "source_deleted")
    await archives.flag(connection, replaced, "source_replaced")


def _files_of(message: Message | None) -> list[int]:
    return [] if message is None else [file.id for file in message.files]


def _lost_by(before: ArchiveSet, after: ArchiveSet, gone: Collection[MessageId]) -> bool:
    """Whether a deletion took a part, and not an edit."""
    left = {(part.message, part.file) for part in after.parts.values()}
    return any(part.message in gone for part in before.parts.values() if (part.message, part.file) not in left)


async def _place(
    connection: Connection, place: Place, new: Sequence[Message], reader: AccountId, now: datetime
) -> tuple[int, int]:
    """Put the archive files of new messages into sets; how many files that were, and how many sets they opened."""
    offered = [one for message in new for one in _offered(message, now)] if place.keep_archives else []
    if not offered:
        return 0, 0
    known = await archives.same_names(connection, place.key, list(dict.fromkeys(one.name for one in offered)))
    before = {name: list(sets) for name, sets in known.items()}
    for one in offered:
        known[one.name] = _with_part(known[one.name], one)
    changed = [
        after
        for name, sets in known.items()
        for number, after in enumerate(sets)
        if number >= len(before[name]) or after is not before[name][number]
    ]
    handles: dict[tuple[int, int], FileHandle] = {
        (message.id, file.id): file.handle for message in new for file in message.files if file.handle
    }
    protected = {message.id for message in new if message.protected}
    await archives.save(connection, place.key, changed, Handles(reader, handles, protected))
    return len(offered), sum(one.id is None and one.set.is_recognised for one in changed)


def _offered(message: Message, now: datetime) -> Iterable[Offered]:
    for file in message.files:
        said = read_name(file.name) if file.kind is FileKind.DOCUMENT else None
        if said is not None:
            part = Part(
                message.id, file.id, file.name, file.size, message.at, now, sender=message.author, album=message.album
            )
            yield Offered((message.topic or 0, said.kind, said.base), part)


def _with_part(sets: list[KeptSet], offered: Offered) -> list[KeptSet]:
    """The sets of one name with one more part: in a set that may take it, else in one of its own."""
    after = place_part([one.set for one in sets], offered.part)
    if len(after) > len(sets):
        return [*sets, KeptSet(None, offered.name[0], "collecting", after[-1])]
    placed = [one if one.set is new else replace(one, set=new) for one, new in zip(sets, after, strict=True)]
    late = [
        old
        for old, new in zip(sets, placed, strict=True)
        if new is not old and old.state not in _TAKES_PARTS and new.set.parts != old.set.parts
    ]
    if not late:
        return placed
    own = place_part([], offered.part)
    return [*sets, KeptSet(None, offered.name[0], "collecting", own[0])]


# Topics


async def _note_topics(
    connection: Connection, place: Place, shown: Iterable[Message], gone: Collection[MessageId], tally: Tally
) -> None:
    """Learn topics from the messages themselves: which there are, what they are called, and which are gone."""
    if not place.forum:
        return
    newest: dict[TopicId, MessageId] = {}
    named: dict[TopicId, Topic] = {}
    for message in sorted(shown, key=lambda one: one.id):
        if message.topic is not None:
            newest[message.topic] = message.id
            if message.topic_event is not None and message.topic_event.title:
                named[message.topic] = Topic(message.topic, message.topic_event.title)
    untitled = await places.note_topics(connection, place.key, newest) if newest else []
    if named:
        await places.name_topics(connection, place.key, named.values())
    if gone:
        await places.lose_topics(connection, place.key, gone)
    tally.untitled |= set(untitled) - named.keys()
