"""Which files form a set, and whether it is complete (scenarios J of the scans)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.archives.rules.file_names import ArchiveKind, ending
from tidegate.archives.rules.set_assembly import (
    ArchivePart,
    ArchiveSet,
    SetPolicy,
    SetState,
    drop_message,
    missing,
    missing_in_words,
    place_archive_part,
    state_of,
    surplus,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
POLICY = SetPolicy()
LATER = NOON + POLICY.quiet_for
FULL, LAST = 1_000, 400
MULTI = [kind for kind in ArchiveKind if not kind.is_single]


def place_parts(sets: Collection[ArchiveSet], parts: Iterable[ArchivePart]) -> list[ArchiveSet]:
    """The sets with all parts of a walk in them, oldest first as a page is stored, in whatever order they came."""
    found = list(sets)
    for part in sorted(parts, key=lambda part: (part.message, part.file)):
        found = place_archive_part(found, part)
    return found


def part(message: int, name: str, size: int = FULL, **more: object) -> ArchivePart:
    """A part posted as message number *message*, a minute after the one before, with a file of its own."""
    own = ArchivePart(message, file=9_000 + message, name=name, size=size, at=NOON + message * MINUTE, seen_at=NOON)
    return replace(own, **more)  # type: ignore[arg-type]


def posted(*names: str, first: int = 1) -> list[ArchivePart]:
    """Parts posted one after the other, the last one smaller."""
    sizes = [FULL] * (len(names) - 1) + [LAST]
    return [part(first + place, name, size) for place, (name, size) in enumerate(zip(names, sizes, strict=True))]


def placed(parts: Sequence[ArchivePart], sets: Sequence[ArchiveSet] = ()) -> list[ArchiveSet]:
    sets = list(sets)
    for one in parts:
        sets = place_archive_part(sets, one)
    return sets


def names(one: ArchiveSet) -> list[str]:
    return [held.name for held in one.manifest]


def state(one: ArchiveSet, now: datetime = NOON) -> SetState:
    return state_of(one, now=now)


class TestSets:
    def test_s75_three_parts_with_a_smaller_last_one(self) -> None:
        """S-75: one archive, whole at once."""
        (one,) = placed(posted("x.part1.rar", "x.part2.rar", "x.part3.rar"))
        assert (state(one), len(one.parts)) == (SetState.WAITING, 3)

    def test_s76_ten_parts_in_the_order_of_their_numbers(self) -> None:
        """S-76: 10 comes after 9, not after 1, with or without zeros."""
        wanted = [f"x.part{number:02}.rar" for number in range(1, 11)]
        (one,) = placed(list(reversed(posted(*wanted))))
        assert names(one) == wanted

    def test_s77_a_part_that_comes_in_the_next_cycle(self) -> None:
        """S-77: collecting, then one archive, not two."""
        first, second, third = posted("x.part1.rar", "x.part2.rar", "x.part3.rar")
        (one,) = placed([first, third])
        assert state(one) is SetState.COLLECTING
        (one,) = placed([replace(second, seen_at=NOON + 60 * MINUTE)], [one])
        assert state(one) is SetState.WAITING

    def test_s78_a_part_that_never_comes(self) -> None:
        """S-78: after the time limit it is shown as incomplete and names what is missing; the part revives it."""
        first, second, third = posted("x.part1.rar", "x.part2.rar", "x.part3.rar")
        (one,) = placed([first, third])
        late = NOON + POLICY.collect_for
        assert (state(one, late), missing_in_words(one)) == (SetState.INCOMPLETE, ".part2.rar")
        (one,) = placed([replace(second, seen_at=late)], [one])
        assert state(one, late) is SetState.WAITING

    def test_s79_the_order_of_volumes(self) -> None:
        """S-79: z01, z02, zip and rar, r00, r01."""
        spanned, volumes = placed(posted("x.zip", "x.z02", "x.z01") + posted("y.r01", "y.r00", "y.rar", first=9))
        assert names(spanned) == ["x.z01", "x.z02", "x.zip"]
        assert names(volumes) == ["y.rar", "y.r00", "y.r01"]

    def test_s80_pieces_of_three_types_are_three_archives(self) -> None:
        """S-80: the same base, told apart by kind."""
        sets = placed(
            posted("x.7z.001", "x.7z.002", "x.7z.003")
            + posted("x.rar.001", "x.rar.002", first=11)
            + posted("x.zip.001", "x.zip.002", first=21)
        )
        assert [one.kind for one in sets] == [ArchiveKind.SPLIT_7Z, ArchiveKind.SPLIT_RAR, ArchiveKind.SPLIT_ZIP]
        assert {state(one) for one in sets} == {SetState.WAITING}

    def test_s81_case_is_ignored(self) -> None:
        """S-81: X.PART1.RAR and x.part2.rar are one archive."""
        (one,) = placed(posted("X.PART1.RAR", "x.part2.rar"))
        assert names(one) == ["X.PART1.RAR", "x.part2.rar"]

    def test_s82_a_set_posted_twice_is_two_sets(self) -> None:
        """S-82: a repeated number with another file opens a second set; nothing mixes."""
        style = ("x.part1.rar", "x.part2.rar", "x.part3.rar")
        one, two = placed(posted(*style) + posted(*style, first=11))
        assert [held.message for held in one.manifest] == [1, 2, 3]
        assert [held.message for held in two.manifest] == [11, 12, 13]

    def test_a_repost_does_not_fill_the_hole_of_an_older_set(self) -> None:
        """Two uploads of different content under one name would make a corrupt set."""
        first, _, third = posted("x.part1.rar", "x.part2.rar", "x.part3.rar")
        again = posted("x.part1.rar", "x.part2.rar", "x.part3.rar", first=101)
        for order in (again, list(reversed(again))):
            old, new = placed([first, third, *order])
            assert [held.message for held in new.manifest] == [101, 102, 103]
            assert missing(old) == [(2, 2)]

    @pytest.mark.parametrize("old", [("x.part1.rar", "x.part2.rar"), ("x.part1.rar", "x.part2.rar", "x.part3.rar")])
    def test_a_longer_repost_read_downwards_stays_apart(self, old: tuple[str, ...]) -> None:
        """Its parts 4 and 5 come first, and must not go on with an older posting, whole or not."""
        again = posted(*(f"x.part{number}.rar" for number in range(1, 6)), first=101)
        first, second = place_parts(placed(posted(*old)), reversed(again))
        assert names(first) == list(old)
        assert second.manifest == again

    def test_parts_leave_with_the_posting_they_came_with(self) -> None:
        """A new part 1 filled the hole of an old set; when its own part 2 follows, it leaves with its spare."""
        old = [part(2, "x.part2.rar"), part(3, "x.part3.rar", LAST)]
        new = part(501, "x.part1.rar")
        (mixed,) = placed([*old, new, part(504, "x.part1.rar", file=new.file)])
        stayed, left = placed([part(502, "x.part2.rar")], [replace(mixed, volumes=3)])
        assert (stayed.manifest, stayed.spares, stayed.volumes) == (old, (), None)
        assert [held.message for held in (*left.manifest, *left.spares)] == [501, 502, 504]

    def test_a_set_goes_on_in_a_walk_that_is_read_downwards(self) -> None:
        """S-77: parts 1 and 2 were there yesterday, 5, 4 and 3 come today: one archive."""
        parts = posted(*(f"x.part{number}.rar" for number in range(1, 6)))
        (one,) = place_parts(placed(parts[:2]), reversed(parts[2:]))
        assert one.manifest == parts

    def test_a_zip_waits_for_nobody_until_volumes_come(self) -> None:
        """A single .zip or .rar is whole; a volume of the same base makes it one of a set."""
        for lone, volume in (("x.zip", "x.z02"), ("x.rar", "x.r01")):
            (one,) = placed([part(1, lone)])
            assert state(one) is SetState.WAITING
            (one,) = placed([part(2, volume)], [one])
            assert state(one) is SetState.COLLECTING

    def test_a_zip_that_says_it_has_volumes_waits_for_them(self) -> None:
        """The ZIP's end record counts its volumes, and must match."""
        (one,) = placed([part(1, "x.zip")])
        three = replace(one, volumes=3)
        assert (state(three), missing_in_words(three)) == (SetState.COLLECTING, ".z01 to .z02")
        (whole,) = placed([part(2, "x.z01"), part(3, "x.z02")], [three])
        assert state(whole) is SetState.WAITING
        assert len(placed([part(4, "x.z03")], [whole])) == 2, "a fourth volume is of another set"
        late = replace(placed([part(4, "x.z03"), part(2, "x.z01"), part(3, "x.z02")], [one])[0], volumes=3)
        assert (surplus(late), state(late)) == ([3], SetState.COLLECTING)

    def test_numbers_alone_are_an_archive_only_with_a_001(self) -> None:
        """Kind 7: a file that happens to end in .123 is not shown as an incomplete archive."""
        (one,) = placed([part(1, "notes.123")])
        assert not one.is_recognised
        (one,) = placed([part(2, "notes.001")], [one])
        assert one.is_recognised
        (one,) = drop_message([one], 2)
        assert one.is_recognised, "its first part was deleted, which makes it no less of an archive"

    def test_equal_parts_prove_no_end(self) -> None:
        """Without a smaller last part a quiet period decides; what comes meanwhile starts it anew."""
        pair = [part(1, "x.7z.001"), part(2, "x.7z.002")]
        (one,) = placed(pair)
        assert state(one, LATER - MINUTE) is SetState.COLLECTING
        assert state(one, LATER) is SetState.WAITING
        (one,) = placed([part(3, "x.7z.003", seen_at=LATER - MINUTE)], [one])
        assert state(one, LATER) is SetState.COLLECTING

    def test_two_senders_are_two_sets(self) -> None:
        """Two people who post the same name at the same time do not make one archive."""
        assert len(placed([part(1, "x.part1.rar", sender="ann"), part(2, "x.part2.rar", sender="bob")])) == 2

    def test_a_long_time_apart_is_two_sets(self) -> None:
        """A part years later is not the one that was missing."""
        much_later = NOON + POLICY.apart_for + 2 * MINUTE
        assert len(placed([part(1, "x.part1.rar"), part(2, "x.part2.rar", at=much_later)])) == 2

    def test_interleaved_albums_are_told_apart(self) -> None:
        """What was posted as one album belongs together, whatever lies between."""
        mixed = [
            part(number * 2 + album, f"x.part{number}.rar", FULL - number // 3, album=album)
            for number in (1, 2, 3)
            for album in (0, 1)
        ]
        for one in placed(mixed):
            assert len({held.album for held in one.manifest}) == 1

    def test_interleaved_sets_are_told_apart_by_size(self) -> None:
        """Parts of one set have one size, so another size is another set."""
        mixed = [part(10 * n + s, f"x.part{n}.rar", size) for n in (1, 2, 3) for s, size in enumerate((FULL, FULL + 5))]
        for one in placed(mixed):
            assert len({held.size for held in one.manifest}) == 1

    def test_a_hostile_number_costs_no_memory(self) -> None:
        """A lone part 99999 names its hole in a line."""
        (one,) = placed([part(1, "x.part99999.rar")])
        assert missing_in_words(one) == ".part1.rar to .part99998.rar"


class TestCorrections:
    STYLES = ("x.part{}.rar", "x.7z.{:03}", "x.zip.{:03}", "x.rar.{:03}", "x.{:03}")

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("chatter", [0, 1, 5])
    def test_a_corrected_part_completes_its_set(self, style: str, chatter: int) -> None:
        """Parts 1, 2, 2 once more, 3: one set, with the corrected part; what it replaced makes no set of its own."""
        one, two = part(1, style.format(1)), part(2, style.format(2))
        again, three = part(3 + chatter, style.format(2)), part(4 + chatter, style.format(3))
        (made,) = placed([one, two, again, three])
        assert made.manifest == [one, again, three]
        assert made.spares == (two,)
        assert placed([one, two, again, three], [made]) == [made]

    @pytest.mark.parametrize("style", STYLES)
    def test_a_first_part_that_is_posted_again_at_once_begins_one_set(self, style: str) -> None:
        """Parts 1, 1 once more, 2, 3: the first upload of part 1 is never taken for an archive."""
        first, again, two, three = (part(m, style.format(n)) for m, n in ((1, 1), (2, 1), (3, 2), (4, 3)))
        (made,) = placed([first, again, two, three])
        assert made.manifest == [again, two, three]

    def test_a_last_part_that_is_posted_again_at_once_is_corrected(self) -> None:
        """Equal parts tell no end, so the set is still open when the correction comes."""
        one, two, three, again = (part(m, f"x.7z.{n:03}") for m, n in ((1, 1), (2, 2), (3, 3), (4, 3)))
        (made,) = placed([one, two, three, again])
        assert made.manifest == [one, two, again]

    def test_a_part_goes_where_it_leaves_no_hole(self) -> None:
        """Nearness decides only among sets that the part makes none the worse."""
        one, two, stray = part(1, "x.part1.rar"), part(2, "x.part2.rar"), part(40, "x.part2.rar", FULL + 7)
        sets = placed([part(41, "x.part3.rar")], [placed([one, two])[0], placed([stray])[0]])
        assert sorted(len(one.parts) for one in sets)[-1] == 3

    def test_a_correction_that_is_deleted_brings_nothing_back_by_itself(self) -> None:
        """The part that was replaced had been wrong: the set waits for the number again."""
        one, two, again, three = (part(m, f"x.part{n}.rar") for m, n in ((1, 1), (2, 2), (3, 2), (4, 3)))
        (made,) = drop_message(placed([one, two, again, three]), again.message)
        assert missing(made) == [(2, 2)]

    def test_a_correction_turns_out_to_be_a_posting_of_its_own(self) -> None:
        """Its own part 1 is found later: both postings are as they were posted."""
        old = [part(1, "x.part1.rar"), part(2, "x.part2.rar")]
        again = [part(n, f"x.part{n - 3}.rar") for n in (4, 5, 6)]
        first, second = place_parts(placed([*old, again[1], again[2]]), again[:1])
        assert (first.manifest, second.manifest) == (old, again)

    def test_two_archives_of_one_name_stay_two(self) -> None:
        """A zip or rar that is whole by itself is corrected by nothing."""
        for name in ("x.zip", "x.rar", "x.7z"):
            assert len(placed([part(1, name), part(2, name)])) == 2


class TestDeletions:
    def test_a_deleted_part_reopens_the_question(self) -> None:
        """It does not shorten the set: two of three parts are never taken for a whole."""
        sets = placed(posted("x.part1.rar", "x.part2.rar", "x.part3.rar"))
        (one,) = drop_message(sets, 3)
        assert (state(one, LATER), missing_in_words(one)) == (SetState.COLLECTING, ".part3.rar")
        (one,) = placed([part(4, "x.part3.rar", LAST)], [one])
        assert state(one) is SetState.WAITING

    def test_a_set_without_parts_is_gone(self) -> None:
        """The last part's message was deleted: shown as gone, and a new posting is a new set."""
        sets = drop_message(placed([part(1, "x.zip")]), 1)
        assert [state(one) for one in sets] == [SetState.GONE]
        assert len(placed([part(2, "x.zip")], sets)) == 2

    def test_the_same_file_in_another_message_steps_in(self) -> None:
        """A file forwarded within its place is no second set, and saves the first when that message is deleted."""
        sets = placed([part(1, "x.zip"), part(7, "x.zip", file=9_001)])
        assert len(sets) == 1
        (one,) = drop_message(sets, 1)
        assert [held.message for held in one.manifest] == [7]

    def test_s33_an_edit_swaps_the_file(self) -> None:
        """S-33: the edited message's new file takes the place of the old one in a set that is still open."""
        sets = placed(posted("x.part1.rar", "x.part2.rar", "x.part3.rar"))
        swapped = part(2, "x.part2.rar", file=77)
        (one,) = placed([swapped], drop_message(sets, 2, kept=[77]))
        assert one.parts[2].file == 77
        assert state(one) is SetState.WAITING

    def test_an_edit_of_the_text_alone_changes_nothing(self) -> None:
        """The files that are kept stay where they are."""
        sets = placed(posted("x.part1.rar", "x.part2.rar"))
        assert drop_message(sets, 2, kept=[9_002]) == sets


@st.composite
def whole_sets(draw: st.DrawFn) -> list[ArchivePart]:
    """A set of any style with two to twelve parts in the order of their content, its last part smaller."""
    kind = draw(st.sampled_from(MULTI))
    count = draw(st.integers(2, 12))
    numbers = list(range(kind.first, kind.first + count))
    if kind is ArchiveKind.ZIP:
        numbers.append(numbers.pop(0))
    return posted(*(f"Model{ending(kind, number)}" for number in numbers))


@given(parts=whole_sets(), data=st.data())
def test_a_set_is_one_set_in_whatever_order_it_comes(parts: list[ArchivePart], data: st.DataObject) -> None:
    """Pages come newest first, differences oldest first, and a killed worker reads some of them twice."""
    order = data.draw(st.permutations(parts)) + data.draw(st.lists(st.sampled_from(parts)))
    (one,) = placed(order)
    assert (one.manifest, one.spares) == (parts, ())
    assert state(one) is SetState.WAITING


@given(parts=whole_sets(), data=st.data())
def test_a_repost_of_a_broken_set_is_whole(parts: list[ArchivePart], data: st.DataObject) -> None:
    """Parts are missing, so somebody posts all of it again: whatever was left of the first posting stays out of it."""
    left = [one for one in parts if data.draw(st.booleans())]
    again = [replace(one, message=one.message + 500, file=one.file + 500) for one in parts]
    sets = place_parts(place_parts([], left), data.draw(st.permutations(again)))
    assert again in [one.manifest for one in sets]
    assert sorted(held.message for one in sets for held in one.manifest) == sorted(
        held.message for held in (*left, *again)
    )


@given(first=whole_sets(), second=whole_sets(), data=st.data())
def test_the_order_of_pages_decides_nothing(
    first: list[ArchivePart], second: list[ArchivePart], data: st.DataObject
) -> None:
    """Two postings, some parts never posted: the sets of a walk depend on its messages alone."""
    moved = [replace(one, message=one.message + 50, file=one.file + 50) for one in second]
    walk = [one for one in (*first, *moved) if data.draw(st.integers(0, 4))]
    assert place_parts([], data.draw(st.permutations(walk))) == place_parts([], walk)


@given(parts=whole_sets(), data=st.data())
def test_a_set_with_a_hole_is_never_whole(parts: list[ArchivePart], data: st.DataObject) -> None:
    """Whatever part is missing but the last of a style without an end mark, no time makes the rest an archive.

    The last volume before a ``.zip`` is missed once the ZIP's end record has told how many there are.
    """
    hole = data.draw(st.integers(0, len(parts) - 2))
    (one,) = placed([one for one in parts if one is not parts[hole]])
    if one.kind is ArchiveKind.ZIP:
        one = replace(one, volumes=len(parts))
    assert state(one, NOON + timedelta(days=900)) is SetState.INCOMPLETE
    assert missing_in_words(one)


@given(parts=whole_sets(), data=st.data())
def test_a_deletion_is_never_forgotten(parts: list[ArchivePart], data: st.DataObject) -> None:
    """Any deleted part, the last included, leaves the set open until something takes its place."""
    deleted = data.draw(st.sampled_from(parts))
    (one,) = drop_message(placed(parts), deleted.message)
    assert state(one, NOON + timedelta(days=900)) is SetState.INCOMPLETE
    (one,) = placed([deleted], [one])
    assert one.manifest == parts


@given(parts=whole_sets(), backwards=st.booleans())
def test_a_repost_never_mixes_with_the_first_posting(parts: list[ArchivePart], backwards: bool) -> None:
    """Read upwards or downwards, each posting keeps its own messages."""
    again = [replace(one, message=one.message + 500, file=one.file + 500) for one in parts]
    both = [*parts, *again]
    sets = placed(both[::-1] if backwards else both)
    assert sorted(one.manifest[0].message for one in sets) == sorted([parts[0].message, again[0].message])
    assert all(one.manifest in (parts, again) for one in sets)


@given(data=st.data())
def test_every_archive_part_is_in_exactly_one_set(data: st.DataObject) -> None:
    """Whatever is posted, deleted and posted again, no part is lost and none is counted twice."""
    files = st.sampled_from(
        ["x.zip", "x.z01", "x.rar", "x.r00", "x.part1.rar", "x.part2.rar", "x.001", "x.pdf", "x.jpg"]
    )
    posts = data.draw(st.lists(files, max_size=25))
    sets: list[ArchiveSet] = []
    alive: set[int] = set()
    for message, name in enumerate(posts, 1):
        sets = place_archive_part(sets, part(message, name, data.draw(st.sampled_from([FULL, LAST]))))
        alive |= {message} if name != "x.jpg" else set()
        if alive and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(alive)))
            sets = drop_message(sets, gone)
            alive.discard(gone)
    held = [one.message for whole in sets for one in (*whole.parts.values(), *whole.spares)]
    assert sorted(held) == sorted(alive)


@pytest.mark.parametrize("name", ["model.7z", "a.tar.gz", "plan.pdf"])
def test_a_single_file_is_whole_at_once(name: str) -> None:
    """Kinds 8 to 10 wait for nothing."""
    (one,) = placed([part(1, name)])
    assert state(one) is SetState.WAITING
