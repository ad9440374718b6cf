"""Which files form a set, and whether it is whole (seed 000).

Parts arrive over pages, scans and restarts. ``place_part`` folds them into sets one by one, ``place_parts`` those of a
walk; the sets are values that a store can keep, so a set begun yesterday goes on today. All are of one place: a channel
or a topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.rules.naming import HEAD, Kind, ending, position, read_name


class SetState(StrEnum):
    """What a set waits for, until somebody works on it."""

    COLLECTING = "collecting"
    WAITING = "waiting"
    INCOMPLETE = "incomplete"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class SetHabits:
    """How patient we are with parts that may still come.

    ``quiet_for``: with no mark of the end, a set is taken as whole when nothing came for so long. ``collect_for``: a
    set with holes is shown as incomplete after that; it still takes the missing part. ``apart_for``: parts posted
    further from each other than this are of two sets.
    """

    quiet_for: timedelta = timedelta(hours=1)
    collect_for: timedelta = timedelta(days=1)
    apart_for: timedelta = timedelta(days=30)


HABITS = SetHabits()


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a message that may be part of an archive: posted *at*, first seen by us at *seen_at*."""

    message: int
    file: int
    name: str
    size: int
    at: datetime
    seen_at: datetime
    sender: str = ""
    album: int | None = None


@dataclass(frozen=True, slots=True)
class ArchiveSet:
    """File parts that belong together, by number.

    ``volumes`` is how many there are when the content itself has told. ``lost`` are numbers without which the set is
    not whole: their message was deleted, or the volume before says that they follow. ``spares`` are the very same files
    in other messages.
    """

    kind: Kind
    base: str
    parts: Mapping[int, Part]
    volumes: int | None = None
    lost: frozenset[int] = frozenset()
    spares: tuple[Part, ...] = field(default=())

    @property
    def manifest(self) -> list[Part]:
        """The parts in the order in which their content is read, hashed and delivered."""
        return [self.parts[number] for number in sorted(self.parts, key=lambda number: position(self.kind, number))]

    @property
    def is_recognised(self) -> bool:
        """Whether it is an archive at all: ``.002`` alone may be anybody's file, until a ``.001`` comes to it."""
        return self.kind is not Kind.SPLIT or 1 in self.parts or 1 in self.lost


# Placing parts


def place_parts(sets: Collection[ArchiveSet], parts: Iterable[Part], habits: SetHabits = HABITS) -> list[ArchiveSet]:
    """The sets with all parts of a walk in them, in whatever order its pages came.

    A walk may go downwards, and then the end of a re-post comes before its beginning: only the whole of a walk, oldest
    first, tells whether part 5 goes on with yesterday's parts 1 to 3 or belongs to a posting with a part 1 of its own.
    """
    placed = list(sets)
    for part in sorted(parts, key=lambda part: (part.message, part.file)):
        placed = place_part(placed, part, habits)
    return placed


def place_part(sets: Collection[ArchiveSet], part: Part, habits: SetHabits = HABITS) -> list[ArchiveSet]:
    """The sets with one more part in them; the same sets when it is no archive, or already placed.

    Give the sets that nobody has worked on yet; of those only the ones with the part's own base can change.

    A number that is taken by another file means a re-post: a second set opens, so that two postings never mix, and
    parts of the first set that were posted nearer to the newcomer leave with it. Where several sets could take the
    part, it goes to the one it was posted with: the same album, then the size of the other parts where all those sets
    have parts that tell, then the nearest message.
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
    company = [(one, parts) for one in same if (parts := _company(one, name.number, part, habits))]
    if not company:
        return [*sets, ArchiveSet(name.kind, name.base, {name.number: part})]
    taker, parts = _nearest(company, name.number, part)
    if name.number in taker.parts:
        return _swap(sets, taker, _split(taker, name.number, part, parts))
    return _swap(sets, taker, [replace(taker, parts={**taker.parts, name.number: part})])


def _holds(one: ArchiveSet, part: Part) -> bool:
    return any((held.message, held.file) == (part.message, part.file) for held in (*one.parts.values(), *one.spares))


def _company(one: ArchiveSet, number: int, part: Part, habits: SetHabits) -> dict[int, Part]:
    """The parts of a set that the newcomer would stand with; none when it cannot belong to them.

    Where its number is taken, those are the parts that were posted nearer to it than to the holder of the number.
    """
    if one.volumes is not None and number >= one.kind.first + one.volumes:
        return {}
    company, holder = dict(one.parts), one.parts.get(number)
    if holder is not None:
        company = {held: other for held, other in company.items() if _steps(other, part) < _steps(other, holder)}
    near = any(abs(other.at - part.at) <= habits.apart_for for other in company.values())
    return company if near and all(other.sender == part.sender for other in company.values()) else {}


def _steps(one: Part, other: Part) -> int:
    return abs(one.message - other.message)


def _nearest(
    company: Collection[tuple[ArchiveSet, dict[int, Part]]], number: int, part: Part
) -> tuple[ArchiveSet, dict[int, Part]]:
    sizes_tell = all(_full_size(parts, number) is not None for _, parts in company)

    def distance(candidate: tuple[ArchiveSet, dict[int, Part]]) -> tuple[bool, bool, int]:
        _, parts = candidate
        return (
            part.album is None or all(other.album != part.album for other in parts.values()),
            sizes_tell and part.size != _full_size(parts, number),
            min(_steps(other, part) for other in parts.values()),
        )

    return min(company, key=distance)


def _full_size(parts: Mapping[int, Part], number: int) -> int | None:
    """The size of all parts but the last, were *number* among them; None when no part can tell."""
    top = max(*parts, number)
    return max((part.size for held, part in parts.items() if held < top), default=None)


def _split(one: ArchiveSet, number: int, part: Part, leaving: Mapping[int, Part]) -> list[ArchiveSet]:
    """Two sets of one: those who stay, and those who leave with the newcomer. What the content told is told anew."""
    files = {other.file for other in leaving.values()}
    stay = {held: other for held, other in one.parts.items() if held not in leaving}
    spares = tuple(spare for spare in one.spares if spare.file not in files)
    gone_along = tuple(spare for spare in one.spares if spare.file in files)
    return [
        replace(one, parts=stay, spares=spares, volumes=None),
        ArchiveSet(one.kind, one.base, {**leaving, number: part}, spares=gone_along),
    ]


def drop_message(sets: Iterable[ArchiveSet], message: int, *, kept: Collection[int] = ()) -> list[ArchiveSet]:
    """The sets after a message was deleted, or edited so that only the files *kept* are left in it.

    A deleted part reopens the question whether the set is whole; it does not make the set shorter. A spare steps in.
    """
    return [_without(one, message, kept) for one in sets]


def _without(one: ArchiveSet, message: int, kept: Collection[int]) -> ArchiveSet:
    def stays(part: Part) -> bool:
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


# Is it whole?


def state_of(one: ArchiveSet, *, now: datetime, habits: SetHabits = HABITS) -> SetState:
    """Whether a set is whole, may still become so, or has waited too long.

    Ask at the end of a walk, not between its pages: a ``.rar`` may stand alone only until its volumes are read.
    """
    if not one.parts:
        return SetState.GONE
    rested = now - max(part.seen_at for part in one.parts.values())
    fits = not missing(one) and not surplus(one)
    if fits and (_has_end(one) or rested >= habits.quiet_for):
        return SetState.WAITING
    return SetState.INCOMPLETE if rested >= habits.collect_for else SetState.COLLECTING


def _has_end(one: ArchiveSet) -> bool:
    """Whether the end is known: by the content, by the name, or by a last part smaller than the equal others."""
    if one.kind.is_single or one.kind is Kind.ZIP or one.volumes is not None:
        return True
    if one.kind is Kind.RAR and one.parts.keys() == {HEAD}:
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
    """Numbers that cannot be, by the count of volumes that the content tells."""
    return [] if one.volumes is None else sorted(n for n in one.parts if n >= one.kind.first + one.volumes)


def missing_in_words(one: ArchiveSet) -> str:
    """What a person has to look for, such as ``.part2.rar`` or ``.zip, .z03 to .z07``; empty when all is there."""
    words = []
    for low, high in missing(one):
        if low == HEAD:
            words.append(ending(one.kind, HEAD))
        start = max(low, HEAD + 1)
        if start <= high:
            last = f" to {ending(one.kind, high)}" if start < high else ""
            words.append(ending(one.kind, start) + last)
    return ", ".join(words)
