"""What could be freed: kept files that nothing would keep today."""

from __future__ import annotations

import pytest

from tidegate.core.ids import AccountId, ChannelKey
from tidegate.media.rules.media_policy import MediaAction, MediaPlace, MediaRule, PolicyKind, PolicyState
from tidegate.media.rules.unneeded_files import why_freeable

ON, OFF = PolicyState(enabled=True), PolicyState(enabled=False)
PLACE = MediaPlace(ChannelKey(1), AccountId(1), in_full=True)
ARCHIVES = MediaPlace(ChannelKey(1), AccountId(1), in_full=False)
KEPT_ARCHIVES = MediaPlace(ChannelKey(1), AccountId(1), in_full=False, keeps_archives=True)
NO_VIDEO = MediaRule(kind=PolicyKind.VIDEO, action=MediaAction.NO)


@pytest.mark.parametrize(
    ("state", "place", "kind", "mirrored", "why"),
    [
        (ON, PLACE, PolicyKind.PICTURE, True, ""),
        (ON, PLACE, PolicyKind.VIDEO, True, "The policy no longer keeps this kind here."),
        (ON, PLACE, PolicyKind.PICTURE, False, "The channel is no longer mirrored."),
        (OFF, PLACE, PolicyKind.PICTURE, True, "Files are no longer kept."),
        (ON, ARCHIVES, PolicyKind.DOCUMENT, True, "Only archives of the channel are mirrored."),
        (ON, KEPT_ARCHIVES, PolicyKind.DOCUMENT, True, ""),
    ],
)  # fmt: skip
def test_what_nothing_would_keep_today_could_be_freed(
    state: PolicyState, place: MediaPlace, kind: PolicyKind, mirrored: bool, why: str
) -> None:
    """With the reason; everything else stays out of the list."""
    assert why_freeable(state, [NO_VIDEO], place, kind, mirrored=mirrored) == why
