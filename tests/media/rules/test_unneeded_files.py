"""What could be freed: kept files that nothing would keep today."""

from __future__ import annotations

import pytest

from tidegate.core.ids import AccountId, ChannelKey
from tidegate.media.rules.media_policy import (
    DEFAULT_LARGEST,
    MB,
    MediaAction,
    MediaPlace,
    MediaRule,
    PolicyKind,
    PolicyState,
)
from tidegate.media.rules.unneeded_files import KeptSums, UnneededFiles, unneeded_files

ON, OFF = PolicyState(enabled=True), PolicyState(enabled=False)
ALL_THE_SAME = PolicyState(enabled=True, keep_protected=True)
PLACE = MediaPlace(ChannelKey(1), AccountId(1), in_full=True)
ARCHIVES = MediaPlace(ChannelKey(1), AccountId(1), in_full=False)
KEPT_ARCHIVES = MediaPlace(ChannelKey(1), AccountId(1), in_full=False, keeps_archives=True)
PROTECTED = MediaPlace(ChannelKey(1), AccountId(1), in_full=True, protected=True)
NO_VIDEO = MediaRule(kind=PolicyKind.VIDEO, action=MediaAction.NO)
STILLS = MediaRule(channel=ChannelKey(1), kind=PolicyKind.STICKER, action=MediaAction.THUMBNAIL)
SUMS = KeptSums(bytes=9 * MB, larger=0, in_channel=12 * MB)
SOME_LARGE = KeptSums(bytes=9 * MB, larger=7 * MB, in_channel=12 * MB)


@pytest.mark.parametrize(
    ("state", "place", "kind", "mirrored", "why"),
    [
        (ON, PLACE, PolicyKind.PICTURE, True, ""),
        (ON, PLACE, PolicyKind.VIDEO, True, "The policy no longer keeps this kind here."),
        (ON, PLACE, PolicyKind.STICKER, True, "The policy no longer keeps this kind here."),
        (ON, PLACE, PolicyKind.PICTURE, False, "The channel is no longer mirrored."),
        (OFF, PLACE, PolicyKind.PICTURE, True, "Files are no longer kept."),
        (ON, PROTECTED, PolicyKind.PICTURE, True, "The channel forbids saving."),
        (ALL_THE_SAME, PROTECTED, PolicyKind.PICTURE, True, ""),
        (ON, ARCHIVES, PolicyKind.DOCUMENT, True, "Only archives of the channel are mirrored."),
        (ON, KEPT_ARCHIVES, PolicyKind.DOCUMENT, True, ""),
        (ON, KEPT_ARCHIVES, PolicyKind.PICTURE, True, "Only archives of the channel are mirrored."),
    ],
)  # fmt: skip
def test_what_nothing_would_keep_today_could_be_freed(
    state: PolicyState, place: MediaPlace, kind: PolicyKind, mirrored: bool, why: str
) -> None:
    """With the reason; everything else stays out of the list."""
    found = unneeded_files(state, [NO_VIDEO, STILLS], place, kind, SUMS, mirrored=mirrored)
    stills = kind is PolicyKind.STICKER
    assert found == (UnneededFiles(why, SUMS.bytes, keeps_thumbnails=stills) if why else None)


def test_files_above_the_limit_for_one_file_could_be_freed() -> None:
    """Those alone; the limit of a channel is looked at once they are gone."""
    rule = MediaRule(whole_limit=MB)
    for kind in (PolicyKind.VIDEO, PolicyKind.DOCUMENT):
        found = unneeded_files(ON, [rule], PLACE, kind, SOME_LARGE, mirrored=True)
        assert found is not None
        assert (found.bytes, found.above, found.oldest) == (7 * MB, DEFAULT_LARGEST, False)
        assert found.keeps_thumbnails is (kind is PolicyKind.VIDEO), "of larger videos a thumbnail is kept"


@pytest.mark.parametrize(("limit", "surplus"), [(20, 0), (12, 0), (10, 2), (1, 9)])
def test_what_a_channel_has_beyond_its_limit_could_be_freed(limit: int, surplus: int) -> None:
    """The oldest files of a kind, and no more than there are of that kind."""
    found = unneeded_files(ON, [MediaRule(whole_limit=limit * MB)], PLACE, PolicyKind.VIDEO, SUMS, mirrored=True)
    assert (0 if found is None else found.bytes) == surplus * MB
    assert found is None or found.oldest


def test_archives_that_the_operator_keeps_are_never_offered() -> None:
    """No rule for documents holds for them, neither of their size nor of their sum."""
    rules = [MediaRule(action=MediaAction.NO, largest=0, whole_limit=0)]
    assert unneeded_files(ON, rules, KEPT_ARCHIVES, PolicyKind.DOCUMENT, SOME_LARGE, mirrored=True) is None
