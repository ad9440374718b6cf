"""Which files form a set, and whether it is complete (seed 000).

Parts arrive over pages, scans and restarts. ``place_archive_part`` puts them into sets one by one. The sets are
values that can be stored, so a set begun yesterday is continued today. All are of one place: a channel or a topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.archives.rules.file_names import HEAD, ArchiveKind, ending, position, read_name
from tidegate.core.ids import AlbumId, FileId, MessageId


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """How long to wait for parts that may still come.

    ``quiet_for``: without a mark of the end, a set counts as complete when no part came for this long. ``collect_for``:
    a set with missing parts is shown as incomplete after this; it still accepts them. ``apart_for``: parts posted
    further apart belong to two sets.
    """

    quiet_for: timedelta = timedelta(hours=1)
    collect_for: timedelta = timedelta(days=1)
    apart_for: timedelta = timedelta(days=30)


POLICY = SetPolicy()


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """A file of a message that may be part of an archive."""

    message: MessageId
    file: FileId
    name: str
    size: int
    at: datetime  # when it was posted
    seen_at: datetime  # when Tidegate first saw it
    sender: str = ""
    album: AlbumId | None = None


@dataclass(frozen=True, slots=True)
class ArchiveSet:
    """File parts that belong together, by number.

    ``volumes`` is how many there are when the content says so. ``lost`` are numbers without which the set is not
    complete: their message was deleted, or the volume before says that they follow. ``spares`` are the very same files
    in other messages, and parts that a correction has replaced.
    """

    kind: ArchiveKind
    base: str
    parts: Mapping[int, ArchivePart]
    volumes: int | None = None
    lost: frozenset[int] = frozenset()
    spares: tuple[ArchivePart, ...] = field(default=())

    @property
    def manifest(self) -> list[ArchivePart]:
        """The parts in the order in which their content is read, hashed and delivered."""
        return [self.parts[number] for number in sorted(self.parts, key=lambda number: position(self.kind, number))]

    @property
    def is_recognised(self) -> bool:
        """Whether it is an archive at all: ``.002`` alone may be any file, until a ``.001`` comes to it."""
        return self.kind is not ArchiveKind.SPLIT or 1 in self.parts or 1 in self.lost


# Placing parts


def place_archive_part(sets: Collection[ArchiveSet], part: ArchivePart, policy: SetPolicy = POLICY) -> list[ArchiveSet]:
    """The sets with one more part in them; the same sets when it is not an archive, or already placed.

    Give the sets that no worker has begun on; of those only the ones with the part's own base can change.

    A number that another file has means a re-post: a second set opens, so that two postings never mix. Parts of the
    first set that were posted nearer to the new part move with it.

    Where several sets could take the part, it goes to the one it was posted with. That is the same album, then a set of
    these hours in which it leaves no hole. Then the size of the other parts decides, where all those sets have
    comparable parts, and last the nearest message. A part that was posted again in the middle of its set is not a
    re-post: the correction replaces it.
    """
    name = read_name(part.name)
    if name is None:
        return list(sets)
    same = [one for one in sets if (one.kind, one.base) == (name.kind, name.base)]
    if any(_holds(one, part) for one in same):
        return list(sets)
    twin = next((one for one in same if name.number in one.parts and one.parts[name.number].file == part.file), None)
    if twin is not None:
        return _swap(sets, twin, [replace(twin, spares=(*twin.spares, part))])
    company = [(one, parts) for one in same if (parts := _company(one, name.number, part, policy))]
    if not company:
        placed = [*sets, ArchiveSet(name.kind, name.base, {name.number: part})]
    else:
        taker, parts = _nearest(company, name.number, part, policy)
        taken = name.number in taker.parts
        grown = replace(taker, parts={**taker.parts, name.number: part})
        placed = _swap(sets, taker, _split(taker, name.number, part, parts) if taken else [grown])
    return _with_corrections(placed, part, policy)


def _holds(one: ArchiveSet, part: ArchivePart) -> bool:
    return any((held.message, held.file) == (part.message, part.file) for held in (*one.parts.values(), *one.spares))


def _company(one: ArchiveSet, number: int, part: ArchivePart, policy: SetPolicy) -> dict[int, ArchivePart]:
    """The parts of a set that the new part would join; none when it cannot belong to them.

    Where its number is taken, those are the parts that were posted nearer to it than to the holder of the number.
    """
    if one.volumes is not None and number >= one.kind.first + one.volumes:
        return {}
    company, holder = dict(one.parts), one.parts.get(number)
    if holder is not None and _leaves_no_room(one.kind, number, holder, part):
        return {}
    if holder is not None:
        company = {held: other for held, other in company.items() if _steps(other, part) < _steps(other, holder)}
    near = any(abs(other.at - part.at) <= policy.apart_for for other in company.values())
    return company if near and all(other.sender == part.sender for other in company.values()) else {}


def _steps(one: ArchivePart, other: ArchivePart) -> int:
    return abs(one.message - other.message)


def _nearest(
    company: Collection[tuple[ArchiveSet, dict[int, ArchivePart]]], number: int, part: ArchivePart, policy: SetPolicy
) -> tuple[ArchiveSet, dict[int, ArchivePart]]:
    sizes_tell = all(_full_size(parts, number) is not None for _, parts in company)

    def distance(candidate: tuple[ArchiveSet, dict[int, ArchivePart]]) -> tuple[bool, bool, bool, int]:
        one, parts = candidate
        of_these_hours = any(abs(other.at - part.at) <= policy.quiet_for for other in parts.values())
        return (
            part.album is None or all(other.album != part.album for other in parts.values()),
            not of_these_hours or bool(missing(replace(one, parts={**parts, number: part}))),
            sizes_tell and part.size != _full_size(parts, number),
            min(_steps(other, part) for other in parts.values()),
        )

    return min(company, key=distance)


def _full_size(parts: Mapping[int, ArchivePart], number: int) -> int | None:
    """The size of all parts but the last, were *number* among them; None when no part shows it."""
    top = max(*parts, number)
    return max((part.size for held, part in parts.items() if held < top), default=None)


def _split(one: ArchiveSet, number: int, part: ArchivePart, leaving: Mapping[int, ArchivePart]) -> list[ArchiveSet]:
    """Two sets from one: the parts that stay, and those that move with the new part. Volumes are unknown again.

    A part that had been replaced by one that moves is back in its place.
    """
    files = {other.file for other in leaving.values()}
    stay = {held: other for held, other in one.parts.items() if held not in leaving}
    replaced = {
        place: spare
        for spare in one.spares
        if (place := _number(spare)) is not None and place in leaving and spare.file not in files
    }
    stay |= replaced
    spares = tuple(spare for spare in one.spares if spare.file not in files and spare not in replaced.values())
    gone_along = tuple(spare for spare in one.spares if spare.file in files)
    return [
        replace(one, parts=stay, spares=spares, volumes=None),
        ArchiveSet(one.kind, one.base, {**leaving, number: part}, spares=gone_along),
    ]


# Corrections


def _with_corrections(sets: Sequence[ArchiveSet], part: ArchivePart, policy: SetPolicy) -> list[ArchiveSet]:
    """The sets after a part was placed: a set that only corrects another, or begins it again, is merged into it."""
    name = read_name(part.name)
    same = [one for one in sets if name is not None and (one.kind, one.base) == (name.kind, name.base) and one.parts]
    for one in same:
        for other in same:
            if one is not other and (_corrects(other, one) or _is_begun_anew(other, one, policy)):
                return _swap([kept for kept in sets if kept is not other], one, [_merged(one, other)])
    return list(sets)


def _merged(one: ArchiveSet, other: ArchiveSet) -> ArchiveSet:
    """A set with the newest of two parts for each number, and the others as its spares."""
    newest = {
        number: max(held, other.parts.get(number, held), key=lambda which: which.message)
        for number, held in one.parts.items()
    }
    replaced = [held for held in (*one.parts.values(), *other.parts.values()) if held not in newest.values()]
    return replace(one, parts=newest, spares=(*one.spares, *other.spares, *replaced))


def _corrects(small: ArchiveSet, one: ArchiveSet) -> bool:
    """Whether all parts of *small* were posted once more in the middle of *one*, without a beginning of their own."""
    if small.kind.first in small.parts or not small.parts.keys() < one.parts.keys():
        return False
    newest = max(held.message for held in one.parts.values())
    return all(
        _is_alike(part, one.parts[number])
        and one.parts[number].message < part.message
        and (part.message < newest or _leaves_no_room(one.kind, number, one.parts[number], part))
        and (number == max(one.parts) or part.size in (one.parts[number].size, _full_size(one.parts, max(one.parts))))
        for number, part in small.parts.items()
    )


_AT_ONCE = 20
"""A first part that is posted again within this number of messages replaces the earlier one."""


def _is_begun_anew(small: ArchiveSet, one: ArchiveSet, policy: SetPolicy) -> bool:
    """Whether *small* is only a first part that was posted again at once, with all the others of *one* after it.

    A ``.rar`` or ``.zip`` may be its own archive.
    """
    first = small.kind.first
    if (
        small.kind in {ArchiveKind.RAR, ArchiveKind.ZIP}
        or small.parts.keys() != {first}
        or not small.parts.keys() < one.parts.keys()
    ):
        return False
    earlier, later = small.parts[first], one.parts[first]
    soon = later.at - earlier.at <= policy.quiet_for and 0 < later.message - earlier.message <= _AT_ONCE
    return soon and _is_alike(earlier, later) and earlier.size == later.size


def _is_alike(part: ArchivePart, other: ArchivePart) -> bool:
    return part.sender == other.sender and part.album == other.album


def _leaves_no_room(kind: ArchiveKind, number: int, holder: ArchivePart, part: ArchivePart) -> bool:
    """Whether a part was posted so soon after the holder of its number that no part before it fits in between."""
    return number != kind.first and 0 < part.message - holder.message <= number - kind.first


def _number(part: ArchivePart) -> int | None:
    name = read_name(part.name)
    return None if name is None else name.number


def drop_message(sets: Iterable[ArchiveSet], message: MessageId, *, kept: Collection[FileId] = ()) -> list[ArchiveSet]:
    """The sets after a message was deleted, or edited so that only the files *kept* are left in it.

    A deleted part reopens the question whether the set is complete; it does not make the set shorter. A spare replaces
    it.
    """
    return [_without(one, message, kept) for one in sets]


def _without(one: ArchiveSet, message: MessageId, kept: Collection[FileId]) -> ArchiveSet:
    def stays(part: ArchivePart) -> bool:
        return part.message != message or part.file in kept

    spares = [spare for spare in one.spares if stays(spare)]
    parts = dict(one.parts)
    for number, part in one.parts.items():
        if not stays(part):
            del parts[number]
            if (spare := next((spare for spare in spares if spare.file == part.file), None)) is not None:
                parts[number] = spare
                spares.remove(spare)
    return replace(one, parts=parts, spares=tuple(spares), lost=one.lost | (one.parts.keys() - parts.keys()))


def _swap(sets: Iterable[ArchiveSet], old: ArchiveSet, new: Sequence[ArchiveSet]) -> list[ArchiveSet]:
    return [one for known in sets for one in (new if known is old else [known])]


# Whether a set is complete


class SetState(StrEnum):
    """What a set waits for, until a worker begins on it."""

    COLLECTING = "collecting"
    WAITING = "waiting"
    INCOMPLETE = "incomplete"
    GONE = "gone"


def state_of(one: ArchiveSet, *, now: datetime, policy: SetPolicy = POLICY) -> SetState:
    """Whether a set is complete, may still become so, or has waited too long.

    Ask at the end of a walk, not between its pages: a ``.rar`` may stand alone only until its volumes are read.
    """
    if not one.parts:
        return SetState.GONE
    rested = now - max(part.seen_at for part in one.parts.values())
    fits = not missing(one) and not surplus(one)
    if fits and (_has_end(one) or rested >= policy.quiet_for):
        return SetState.WAITING
    return SetState.INCOMPLETE if rested >= policy.collect_for else SetState.COLLECTING


def _has_end(one: ArchiveSet) -> bool:
    """Whether the end is known: by the content, by the name, or by a last part smaller than the equal others."""
    if one.kind.is_single or one.kind is ArchiveKind.ZIP or one.volumes is not None:
        return True
    if one.kind is ArchiveKind.RAR and one.parts.keys() == {HEAD}:
        return True
    *others, last = (part.size for part in one.manifest)
    return len(set(others)) == 1 and last < others[0]


def missing(one: ArchiveSet) -> list[tuple[int, int]]:
    """The numbers without a part, as ranges with both ends included."""
    first = one.kind.first
    top = max([*one.parts, *one.lost, first + (one.volumes or 1) - 1])
    holes, expected = [], first
    for number in [*sorted(one.parts), top + 1]:
        if number > expected:
            holes.append((expected, number - 1))
        expected = max(expected, number + 1)
    return holes


def surplus(one: ArchiveSet) -> list[int]:
    """Numbers beyond the count of volumes that the content states."""
    return [] if one.volumes is None else sorted(n for n in one.parts if n >= one.kind.first + one.volumes)


def missing_in_words(one: ArchiveSet) -> str:
    """The names to look for, such as ``.part2.rar`` or ``.zip, .z03 to .z07``; empty when all parts are there."""
    words = []
    for low, high in missing(one):
        if low == HEAD:
            words.append(ending(one.kind, HEAD))
        start = max(low, HEAD + 1)
        if start <= high:
            last = f" to {ending(one.kind, high)}" if start < high else ""
            words.append(ending(one.kind, start) + last)
    return ", ".join(words)
