"""Which files are kept: the operator's rules, their limits, and the verdict for one file. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tidegate.core.ids import AccountId, ChannelKey

MB = 1_000_000
DEFAULT_LARGEST = 20 * MB
LARGEST_TOTAL = 10_000 * MB
SHARE_OF_DISK = 10
"""Without a limit of the operator's, all files together take a tenth of the free disk at most."""


class PolicyKind(StrEnum):
    """What a file is, as the operator chooses: animations are video, music is voice, custom emoji are stickers."""

    PICTURE = "picture"
    VIDEO = "video"
    VOICE = "voice"
    DOCUMENT = "document"
    AVATAR = "avatar"
    STICKER = "sticker"


class MediaAction(StrEnum):
    """What is done with files."""

    KEEP = "keep"  # their bytes are kept
    THUMBNAIL = "thumbnail"  # only the platform's small picture of them is kept
    NO = "no"


class FilePart(StrEnum):
    """What is fetched of a file."""

    WHOLE = "whole"
    THUMBNAIL = "thumbnail"


class SkipReason(StrEnum):
    """Why a file is not kept. ``REASONS`` has the sentences."""

    OFF = "off"
    UNDECIDED = "undecided"
    KIND = "kind"
    SIZE = "size"
    THUMBNAIL = "thumbnail"
    NO_THUMBNAIL = "no_thumbnail"
    ARCHIVES_ONLY = "archives_only"
    PROTECTED = "protected"
    FLEETING = "fleeting"
    CHANNEL_LIMIT = "channel_limit"
    TOTAL_LIMIT = "total_limit"
    REMOVED = "removed"
    BLOCKED = "blocked"


REASONS = {
    SkipReason.OFF: "Files are not kept: media are off.",
    SkipReason.UNDECIDED: "The policy has not been applied to this file yet.",
    SkipReason.KIND: "Files of this kind are not kept here.",
    SkipReason.SIZE: "The file is larger than the limit for one file.",
    SkipReason.THUMBNAIL: "Only a thumbnail is kept of this file.",
    SkipReason.NO_THUMBNAIL: "Only a thumbnail would be kept, and the platform has none of this file.",
    SkipReason.ARCHIVES_ONLY: "Only archives of this channel are mirrored.",
    SkipReason.PROTECTED: "The channel or the message forbids saving.",
    SkipReason.FLEETING: "The file destroys itself after it was seen.",
    SkipReason.CHANNEL_LIMIT: "The limit of its channel was reached.",
    SkipReason.TOTAL_LIMIT: "The file alone is larger than the limit for all files together.",
    SkipReason.REMOVED: "The operator removed it.",
    SkipReason.BLOCKED: "The operator blocked its content.",
}

_SENTENCES = {reason.value: sentence for reason, sentence in REASONS.items()}


def sentence_of(reason: str) -> str:
    """The sentence for a stored reason; a failure is stored as a sentence already."""
    return _SENTENCES.get(reason, reason)


@dataclass(frozen=True, slots=True)
class MediaRule:
    """What the operator wants of files in one place, of one kind or of all; None says nothing."""

    account: AccountId | None = None
    channel: ChannelKey | None = None
    kind: PolicyKind | None = None
    action: MediaAction | None = None
    largest: int | None = None  # the limit for one file
    beyond: MediaAction | None = None  # what is done with larger ones
    whole_limit: int | None = None  # for all files of a channel


@dataclass(frozen=True, slots=True)
class KindPolicy:
    """What all rules together say about files of one kind in one channel."""

    action: MediaAction
    largest: int
    beyond: MediaAction
    whole_limit: int | None = None  # None: no limit


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The policy beside its rules."""

    enabled: bool
    total_limit: int | None = None  # None: chosen by the disk
    keep_protected: bool = False  # also files that their channel forbids to save
    revision: int = 1


@dataclass(frozen=True, slots=True)
class MediaPlace:
    """The channel of a file as the policy sees it."""

    channel: ChannelKey
    reader: AccountId | None
    in_full: bool
    keeps_archives: bool = False
    protected: bool = False
    platform: str = ""


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """A file as the policy sees it."""

    kind: PolicyKind
    size: int  # 0 is unknown
    protected: bool = False
    fleeting: bool = False  # it destroys itself
    archive_part: bool = False
    thumbnail: int | None = None


@dataclass(frozen=True, slots=True)
class MediaVerdict:
    """What becomes of a file."""

    part: FilePart | None  # what is wanted of it
    reason: SkipReason | None = None  # why it is skipped, where nothing is wanted

    @property
    def wanted(self) -> bool:
        return self.part is not None


def policy_for(rules: Iterable[MediaRule], place: MediaPlace, kind: PolicyKind) -> KindPolicy:
    """What holds for files of one kind in one channel: of each value the narrowest rule that has one.

    A rule of the channel is narrower than one of its reader, and that than one for all; a rule of a kind is narrower
    than one of all kinds in the same place.
    """
    fitting = sorted((one for one in rules if _fits(one, place, kind)), key=_width)
    action = next((one.action for one in fitting if one.action is not None), MediaAction.KEEP)
    largest = next((one.largest for one in fitting if one.largest is not None), DEFAULT_LARGEST)
    usual = MediaAction.THUMBNAIL if kind is PolicyKind.VIDEO else MediaAction.NO
    beyond = next((one.beyond for one in fitting if one.beyond is not None), usual)
    whole = next((one.whole_limit for one in fitting if one.whole_limit is not None), None)
    return KindPolicy(action, largest, beyond, whole)


def _fits(rule: MediaRule, place: MediaPlace, kind: PolicyKind) -> bool:
    return (
        rule.channel in (None, place.channel)
        and (rule.account is None or rule.account == place.reader)
        and rule.kind in (None, kind)
    )


def _width(rule: MediaRule) -> tuple[int, bool]:
    return (0 if rule.channel is not None else 1 if rule.account is not None else 2, rule.kind is None)


def decide_file(state: PolicyState, rules: Iterable[MediaRule], place: MediaPlace, file: MediaFacts) -> MediaVerdict:
    """Whether a file is wanted, by everything but how much is stored already.

    Parts of archives that the operator keeps have no limit for one file: a set without a part would be worth nothing.
    """
    if (refused := _refused(state, place, file)) is not None:
        return MediaVerdict(None, refused)
    if place.keeps_archives and file.archive_part:
        return MediaVerdict(FilePart.WHOLE)
    policy = policy_for(rules, place, file.kind)
    fits = file.size <= policy.largest
    action = policy.action if fits or policy.action is not MediaAction.KEEP else policy.beyond
    if action is MediaAction.KEEP:
        return MediaVerdict(FilePart.WHOLE)
    if action is MediaAction.NO:
        too_large = not fits and policy.action is MediaAction.KEEP
        return MediaVerdict(None, SkipReason.SIZE if too_large else SkipReason.KIND)
    if file.thumbnail is None or file.thumbnail > policy.largest:
        return MediaVerdict(None, SkipReason.NO_THUMBNAIL)
    return MediaVerdict(FilePart.THUMBNAIL)


def _refused(state: PolicyState, place: MediaPlace, file: MediaFacts) -> SkipReason | None:
    """Why a file is not kept, whatever rules there are for its kind."""
    if not state.enabled:
        return SkipReason.OFF
    if file.fleeting and not state.keep_protected:
        return SkipReason.FLEETING
    if (file.protected or place.protected) and not state.keep_protected:
        return SkipReason.PROTECTED
    kept_archive = place.keeps_archives and file.archive_part
    return None if place.in_full or kept_archive else SkipReason.ARCHIVES_ONLY


def largest_fetched(policy: KindPolicy, *, archive_part: bool) -> int | None:
    """How many bytes are read of a file at most, whatever its size is said to be; None for any number."""
    return None if archive_part else policy.largest


def total_limit(state: PolicyState, *, free: int | None, stored: int) -> int:
    """How many bytes may be stored in all. *free* is the disk's free space, None for a store on no disk of ours.

    What is stored already counts as free, so that the limit does not shrink while files arrive.
    """
    if state.total_limit is not None:
        return state.total_limit
    return LARGEST_TOTAL if free is None else min(LARGEST_TOTAL, (free + stored) // SHARE_OF_DISK)


def kind_of(*, form: str, kind: str, mime: str) -> PolicyKind:
    """The kind of an attachment; one that an earlier version stored has no form."""
    if form in _FORMS:
        return _FORMS[form]
    family = mime.partition("/")[0]
    if kind == "photo":
        return PolicyKind.PICTURE
    return {"video": PolicyKind.VIDEO, "audio": PolicyKind.VOICE, "image": PolicyKind.PICTURE}.get(
        family if kind == "media" else "", PolicyKind.DOCUMENT
    )


_MOVING = ("video", "round video", "animation", "sticker")


def needs_still(*, form: str, mime: str) -> bool:
    """Whether only the platform can make a small picture of a file: of a video, or of a sticker that moves."""
    return form in _MOVING and not mime.startswith("image/")


_FORMS = {
    "image": PolicyKind.PICTURE,
    "sticker": PolicyKind.STICKER,
    "animation": PolicyKind.VIDEO,
    "video": PolicyKind.VIDEO,
    "round video": PolicyKind.VIDEO,
    "audio": PolicyKind.VOICE,
    "voice": PolicyKind.VOICE,
    "avatar": PolicyKind.AVATAR,
    "file": PolicyKind.DOCUMENT,
}
