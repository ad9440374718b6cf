"""Which kept files nothing would keep today. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.media.rules.media_policy import (
    MediaAction,
    MediaPlace,
    MediaRule,
    PolicyKind,
    PolicyState,
    policy_for,
)


def why_freeable(
    state: PolicyState, rules: Iterable[MediaRule], place: MediaPlace, kind: PolicyKind, *, mirrored: bool
) -> str:
    """Why kept files of a kind in a channel could be removed; empty where they would be kept again."""
    if not state.enabled:
        return "Files are no longer kept."
    if not mirrored:
        return "The channel is no longer mirrored."
    if not place.in_full and not (place.keeps_archives and kind is PolicyKind.DOCUMENT):
        return "Only archives of the channel are mirrored."
    if policy_for(rules, place, kind).action is not MediaAction.KEEP:
        return "The policy no longer keeps this kind here."
    return ""
