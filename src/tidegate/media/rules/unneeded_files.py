"""Which kept files no rule of the policy would keep today. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.media.rules.media_policy import (
    KindPolicy,
    MediaAction,
    MediaPlace,
    MediaRule,
    PolicyKind,
    PolicyState,
    policy_for,
)

_KIND = "The policy no longer keeps this kind here."


@dataclass(frozen=True, slots=True)
class KeptSums:
    """Bytes of kept files: those of one kind in a channel, the *larger* ones among them, and all of the channel."""

    bytes: int
    larger: int  # of files above the limit for one file
    in_channel: int


@dataclass(frozen=True, slots=True)
class UnneededFiles:
    """Kept files of a kind in a channel that could be removed, and why."""

    why: str
    bytes: int
    above: int = -1  # only files of more bytes than that
    oldest: bool = False  # only the oldest files, until *bytes* are removed
    keeps_thumbnails: bool = False  # the policy still keeps a thumbnail of each


def unneeded_files(
    state: PolicyState,
    rules: Iterable[MediaRule],
    place: MediaPlace,
    kind: PolicyKind,
    kept: KeptSums,
    *,
    mirrored: bool,
) -> UnneededFiles | None:
    """Which kept files of a kind in a channel could be removed, by the first rule that would not keep them today.

    Documents of a channel whose archives are kept stay while it is mirrored: parts of archives have no limits.
    """
    policy = policy_for(rules, place, kind)
    if why := why_none(state, policy, place, kind, mirrored=mirrored):
        return UnneededFiles(why, kept.bytes, keeps_thumbnails=why == _KIND and policy.action is MediaAction.THUMBNAIL)
    if _may_be_archives(place, kind):
        return None
    if kept.larger:
        why, stills = "The policy no longer keeps files as large as these.", policy.beyond is MediaAction.THUMBNAIL
        return UnneededFiles(why, kept.larger, above=policy.largest, keeps_thumbnails=stills)
    surplus = 0 if policy.whole_limit is None else kept.in_channel - policy.whole_limit
    if surplus > 0:
        return UnneededFiles("The channel has more than its limit: the oldest.", min(surplus, kept.bytes), oldest=True)
    return None


def why_none(state: PolicyState, policy: KindPolicy, place: MediaPlace, kind: PolicyKind, *, mirrored: bool) -> str:
    """Why no file of a kind would be kept in a channel; empty where some are."""
    archives = _may_be_archives(place, kind)
    reasons = {
        "Files are no longer kept.": not state.enabled,
        "The channel is no longer mirrored.": not mirrored,
        "The channel forbids saving.": place.protected and not state.keep_protected,
        "Only archives of the channel are mirrored.": not place.in_full and not archives,
        _KIND: policy.action is not MediaAction.KEEP and not archives,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _may_be_archives(place: MediaPlace, kind: PolicyKind) -> bool:
    return place.keeps_archives and kind is PolicyKind.DOCUMENT
