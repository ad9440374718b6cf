"""Events and running work as sentences that people read on the pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import singledispatch

from tidegate.channels.rules.channel_names import HasPlace, full_name
from tidegate.core.ids import ChannelId
from tidegate.core.rules.readable_values import counted, readable_size
from tidegate.events.event_data import EventData
from tidegate.events.kinds.access import AccessReset, SignInBegun, SignInEndedEverywhere, TokenAdded
from tidegate.events.kinds.accounts import (
    AccountAdded,
    AccountProxySet,
    AccountRenamed,
    AccountStandingSet,
    AccountStateChanged,
    AccountUnreachable,
)
from tidegate.events.kinds.archives import (
    ArchiveFailed,
    ArchiveFiled,
    ArchiveIndexed,
    ArchivePreviewed,
    ArchiveReopened,
    DestinationChanged,
    FailuresAsked,
    FailuresRetried,
    FilingPaused,
    ReadingPaused,
)
from tidegate.events.kinds.channels import (
    ChannelCountDiffers,
    ChannelEnabled,
    ChannelLost,
    ChannelMoved,
    ChannelParked,
    ChannelRead,
)
from tidegate.events.kinds.cycles import CycleEnded
from tidegate.events.kinds.history import BackfillEnded, BackfillProgressed, ReconcileEnded
from tidegate.events.kinds.lanes import LanePaused
from tidegate.events.kinds.media import MediaFailed, MediaKept, MediaPaused, MediaPolicyChanged, MediaRemoved
from tidegate.events.kinds.reminders import ListChanged, ListRenamed, ReminderFired, ReminderSaved
from tidegate.events.kinds.runs import RunHeld, RunOpened, RunPaused, RunResent, RunWaiting
from tidegate.events.kinds.workers import WorkerJoined
from tidegate.events.queries.feed import Event
from tidegate.web.pages.queries.home import WorkProgress

_COMMANDS = {
    "cycle": "a check",
    "backfill": "loading older messages",
    "reconcile": "a check for edits and deletions",
    "sync": "refreshing its channels",
    "look_again": "a check of its state",
    "test_privately": "a private test",
}


def event_summary(event: Event) -> str:
    """What an event says beyond its kind and subject, in a few words; may be empty."""
    parsed = event.parsed()
    return "" if parsed is None else event_words(parsed)


@singledispatch
def event_words(event: EventData) -> str:
    """The text of one event; a kind without further data has none."""
    return ""


@event_words.register
def _(event: AccessReset) -> str:
    return f"{counted(event.sessions, 'browser')}, {counted(len(event.tokens), 'token')}"


@event_words.register
def _(event: SignInBegun) -> str:
    return f"from {event.client}"


@event_words.register
def _(event: SignInEndedEverywhere) -> str:
    return counted(event.sessions, "browser")


@event_words.register
def _(event: TokenAdded) -> str:
    return _joined(*event.scopes, f"made by the token {event.by}" if event.by else "")


@event_words.register
def _(event: AccountAdded) -> str:
    return event.platform


@event_words.register
def _(event: AccountStateChanged) -> str:
    return _joined(_until(event.until), event.why)


@event_words.register
def _(event: AccountStandingSet) -> str:
    return f"{event.standing}, was {event.was}"


@event_words.register
def _(event: AccountRenamed) -> str:
    return f"was {event.was}"


@event_words.register
def _(event: AccountProxySet) -> str:
    return event.proxy or "no proxy"


@event_words.register
def _(event: AccountUnreachable) -> str:
    return event.why


@event_words.register
def _(event: ArchivePreviewed) -> str:
    return event.type


@event_words.register
def _(event: ArchiveIndexed) -> str:
    return _joined(f"{counted(event.contents, 'file')} inside", *event.flags)


@event_words.register
def _(event: ArchiveFiled) -> str:
    inside = "" if event.contents is None else f"{counted(event.contents, 'file')} inside"
    posted = "" if event.messages is None else f"{counted(len(event.messages), 'message')} posted"
    same = f"same content as archive {event.duplicate_of}" if isinstance(event.duplicate_of, int) else ""
    return _joined(inside, posted, same, *(flag for flag in event.flags if flag != "duplicate"))


@event_words.register
def _(event: ArchiveReopened) -> str:
    return f"{event.parts:,} of {counted(event.volumes, 'volume')}"


@event_words.register
def _(event: ArchiveFailed) -> str:
    following = f"Next try at {_moment(event.next_try_at)}." if event.next_try_at else "It was given up."
    return f"{event.sentence or event.reason} {following}"


@event_words.register
def _(event: FailuresAsked) -> str:
    return counted(len(event.archives), "archive")


@event_words.register
def _(event: FailuresRetried) -> str:
    gone = f"{event.source_gone:,} no longer there" if event.source_gone else ""
    return _joined(f"{counted(event.retried, 'archive')} again", gone)


@event_words.register
def _(event: MediaKept) -> str:
    return f"{counted(event.files, 'file')}, {readable_size(event.bytes)}"


@event_words.register
def _(event: MediaRemoved) -> str:
    return f"{counted(event.files, 'file')} had it" + (", and it is never kept again" if event.blocked else "")


@event_words.register
def _(event: MediaPolicyChanged) -> str:
    return "files are kept" if event.enabled else "no files are kept"


@event_words.register(FilingPaused)
@event_words.register(MediaPaused)
@event_words.register(MediaFailed)
@event_words.register(ReadingPaused)
@event_words.register(DestinationChanged)
def _(event: FilingPaused | ReadingPaused | DestinationChanged) -> str:
    return event.sentence or ""


@event_words.register
def _(event: ChannelEnabled) -> str:
    return counted(len(event.topics), "topic") if event.topics else ""


@event_words.register
def _(event: ChannelRead) -> str:
    return _joined(counted(event.messages, "message"), counted(event.archives, "archive") if event.archives else "")


@event_words.register
def _(event: ChannelCountDiffers) -> str:
    where = f" in topic {event.topic}" if event.topic else ""
    return f"the platform counts {event.counted:,} {event.counter}{where}, {event.stored:,} are stored"


@event_words.register
def _(event: ChannelParked) -> str:
    return _until(event.until)


@event_words.register
def _(event: ChannelMoved) -> str:
    return f"to channel {event.moved_to}"


@event_words.register
def _(event: ChannelLost) -> str:
    return "another account reads it" if event.another_reader else "no account reads it"


@event_words.register
def _(event: CycleEnded) -> str:
    requests, messages = counted(event.calls_total, "request"), counted(event.messages, "message")
    return f"{requests}, {event.changed:,} changed, {messages}"


@event_words.register
def _(event: BackfillEnded) -> str:
    requests = counted(event.calls, "request")
    return _joined(f"{event.fetched:,} fetched", f"{event.stored:,} stored", requests, event.error)


@event_words.register
def _(event: ReconcileEnded) -> str:
    changes = (f"{event.edited:,} edited", f"{event.deleted:,} deleted", f"{event.added:,} added")
    return _joined(f"{event.checked:,} compared", *changes, counted(event.calls, "request"), event.error)


@event_words.register
def _(event: LanePaused) -> str:
    return " ".join(part for part in (_until(event.until), event.why) if part)


@event_words.register
def _(event: ReminderSaved) -> str:
    return f"due {_moment(event.due_at)}" if event.due_at else "sent manually"


@event_words.register
def _(event: ReminderFired) -> str:
    return _joined("a test" if event.test else "", event.body, event.summary)


@event_words.register
def _(event: ListRenamed) -> str:
    return f"was {event.before}"


@event_words.register
def _(event: ListChanged) -> str:
    return counted(event.groups, "group")


@event_words.register
def _(event: RunOpened) -> str:
    return _joined("a test" if event.test else "", counted(event.targets, "group"), counted(event.parts, "message"))


@event_words.register
def _(event: RunWaiting) -> str:
    return _until(event.opens_at)


@event_words.register
def _(event: RunHeld) -> str:
    return _joined(_until(event.until), event.cause)


@event_words.register
def _(event: RunPaused) -> str:
    return event.cause or f"by {event.by}"


@event_words.register
def _(event: RunResent) -> str:
    return f"{event.target} may have it twice: {event.why}"


@event_words.register
def _(event: WorkerJoined) -> str:
    return f"for up to {counted(event.seats, 'account')}"


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _until(at: datetime | None) -> str:
    return f"until {_moment(at)}" if at else ""


def command_words(kind: str) -> str:
    """A requested command, as the end of a sentence."""
    return _COMMANDS.get(kind, kind.replace("_", " "))


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """Running work: how far it is, of how much if that is known, and in words."""

    title: str
    words: str
    done: int
    most: int | None


def bar(progress: WorkProgress, places: Mapping[ChannelId, HasPlace]) -> ProgressBar:
    """The last progress of a backfill or an archive; a channel has its full name."""
    title, event = progress.subject, progress.event
    if isinstance(event, BackfillProgressed):
        title = full_name(title, places.get(event.channel))
        target = event.target
        count = f"{event.depth:,} of {target:,} messages" if target else counted(event.depth, "message")
        return ProgressBar(title, f"loading older messages: {count}", event.depth, target)
    words = f"{event.doing or 'working on it'}: {_megabytes(event.done)} of {_megabytes(event.size)}"
    return ProgressBar(title, words, event.done, event.size)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
