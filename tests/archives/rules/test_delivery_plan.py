"""How an archive reaches its destination."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from tidegate.archives.rules.delivery_plan import (
    MOVES,
    ArchivePartToFile,
    DeliveryState,
    DeliveryWay,
    manifest,
    may_come_from,
    way_for,
)
from tidegate.archives.rules.duplicates import FilingDecision, SameContentSet, content_of, weigh
from tidegate.archives.rules.file_names import MEBIBYTE, largest_piece

parts = st.lists(
    st.builds(
        ArchivePartToFile,
        message=st.integers(1, 99),
        file=st.integers(1, 99),
        name=st.text(min_size=1, max_size=20),
        size=st.integers(0, 500),
        protected=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
contents = st.sampled_from([None, b"a", b"b", b"c"])
rivals = st.lists(
    st.builds(
        SameContentSet, archive=st.integers(1, 9), content=contents, delivered=st.booleans(), coming=st.booleans()
    ).filter(lambda rival: not (rival.delivered and (rival.coming or rival.content is None))),
    max_size=5,
)


@given(parts=parts, protected=st.booleans())
def test_s50_what_is_protected_is_never_copied(parts: list[ArchivePartToFile], protected: bool) -> None:
    """S-49, S-50: copied exactly when neither the channel nor any message of the set is protected."""
    free = not protected and not any(part.protected for part in parts)
    assert way_for(parts, protected=protected) is (DeliveryWay.COPY if free else DeliveryWay.UPLOAD)


@given(parts=parts, largest=st.integers(1, 200))
def test_s53_a_manifest_has_every_byte_once_and_in_order(parts: list[ArchivePartToFile], largest: int) -> None:
    """S-53: the messages in their order are the parts in theirs, and none is above the limit."""
    planned = manifest(parts, DeliveryWay.UPLOAD, largest)
    assert all(one.piece.size <= largest for one in planned)
    covered: list[list[int]] = [[] for _ in parts]
    place = 0
    for one in planned:
        while one.part is not parts[place]:
            place += 1
        assert one.piece.offset == sum(covered[place])
        covered[place].append(one.piece.size)
    assert [sum(sizes) for sizes in covered] == [part.size for part in parts]


@given(parts=parts, largest=st.integers(1, 200))
def test_a_copy_is_one_message_a_part(parts: list[ArchivePartToFile], largest: int) -> None:
    """S-49: what the platform has already is copied whole, under its own name, whatever its size."""
    planned = manifest(parts, DeliveryWay.COPY, largest)
    assert [(one.part, one.piece.name, one.piece.size) for one in planned] == [
        (part, part.name, part.size) for part in parts
    ]


def test_s54_exactly_the_limit_is_one_piece() -> None:
    """S-54: 1950 MiB (3950 premium) go up as one file, a byte more as two with .001 and .002 after the name."""
    for premium, limit in ((False, 1950 * MEBIBYTE), (True, 3950 * MEBIBYTE)):
        largest = largest_piece(premium=premium)
        whole = manifest([ArchivePartToFile(1, 1, "x.zip", limit)], DeliveryWay.UPLOAD, largest)
        assert [one.piece.name for one in whole] == ["x.zip"]
        cut = manifest([ArchivePartToFile(1, 1, "x.zip", limit + 1)], DeliveryWay.UPLOAD, largest)
        assert [(one.piece.name, one.piece.size) for one in cut] == [("x.zip.001", limit), ("x.zip.002", 1)]


def test_s84_a_stranger_does_not_choose_the_path() -> None:
    """S-84: what is uploaded bears a safe name."""
    [one] = manifest([ArchivePartToFile(1, 1, "../../x.zip", 5)], DeliveryWay.UPLOAD, 10)
    assert one.piece.name == "x.zip"


@given(
    blobs=st.lists(st.binary(max_size=4), min_size=1, max_size=4), others=st.lists(st.binary(max_size=4), min_size=1)
)
def test_equal_content_is_equal_part_by_part(blobs: list[bytes], others: list[bytes]) -> None:
    """S-82: two sets have one content exactly when each part has the same bytes as its like; one part is its own."""
    first, second = ([sha256(blob).digest() for blob in them] for them in (blobs, others))
    assert (content_of(first) == content_of(second)) is (blobs == others)
    assert content_of(first[:1]) == first[0]


@given(content=contents, rivals=rivals)
def test_s82_only_what_is_there_byte_for_byte_is_a_duplicate(
    content: bytes | None, rivals: list[SameContentSet]
) -> None:
    """S-82: nothing is left out of the destination on a guess."""
    decision, original = weigh(content, rivals)
    there = [rival.archive for rival in rivals if rival.delivered and rival.content == content is not None]
    assert (decision is FilingDecision.DUPLICATE) is bool(there)
    assert original == (min(there) if there else None)


@given(content=contents, rivals=rivals)
def test_s83_nothing_is_delivered_beside_its_like(content: bytes | None, rivals: list[SameContentSet]) -> None:
    """S-83: a set is delivered only when no other that is there or still coming could be the same."""
    decision, _ = weigh(content, rivals)
    possible = [
        rival
        for rival in rivals
        if (rival.delivered or rival.coming) and (rival.content is None or content is None or rival.content == content)
    ]
    assert (decision is FilingDecision.DELIVER) is (not possible)
    assert decision is not FilingDecision.HASH_FIRST or content is None


@given(moves=st.lists(st.sampled_from(DeliveryState), max_size=12))
def test_what_is_sent_stays_sent(moves: list[DeliveryState]) -> None:
    """claim-before-send: random moves that the table allows never leave ``sent`` and never skip ``sending``."""
    state, walked = DeliveryState.PENDING, [DeliveryState.PENDING]
    for wanted in moves:
        if state in may_come_from(wanted):
            assert wanted in MOVES[state]
            state = wanted
            walked.append(state)
    if DeliveryState.SENT in walked:
        assert walked.index(DeliveryState.SENT) == len(walked) - 1
        assert walked[-2] is DeliveryState.SENDING
