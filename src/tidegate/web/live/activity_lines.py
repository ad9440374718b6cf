"""Events as lines of activity: what happened in plain words, and many of one kind as one line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.channels.rules.channel_names import HasPlace, full_name
from tidegate.core.ids import ChannelId
from tidegate.core.rules.readable_values import counted
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries.feed import Event
from tidegate.web.live.event_sentences import event_summary

TITLES: Mapping[str, str] = {
    "channel.read": "New messages in",
    "archive.filed": "Archive copied",
    "archive.indexed": "Archive indexed",
    "archive.previewed": "Preview found",
    "archive.failed": "Archive failed",
    "sign_in.begun": "Signed in",
    "sign_in.link_made": "Sign-in link created",
    "run.opened": "Sending started",
    "reminder.fired": "Sending finished",
    "run.running": "Sending",
    "run.waiting": "Waiting for delivery hours",
    "run.needs_attention": "A send needs you",
    "run.held": "Sending is tried again later",
    "run.paused": "Sending paused",
    "run.resumed": "Sending resumed",
    "run.resent": "Sent again",
    "failures.asked": "Retry requested",
    "failures.retried": "Archives retried",
    "channel.enabled": "Mirroring started",
    "channel.disabled": "Mirroring stopped",
    "channel.parked": "Rate limited",
    "channel.lost": "Account no longer sees",
    "lane.paused": "Waiting",
    "account.standing_set": "Age of account changed",
    "access.reset": "Everybody signed out",
    "cycle.ended": "Check finished",
    "worker.died": "Worker stopped unexpectedly",
    "worker.joined": "Worker started",
    "worker.left": "Worker stopped",
    "token.added": "Token created",
    "backfill.ended": "Older messages loaded",
    "reconcile.ended": "Edits and deletions checked",
    "account.removed": "Account deleted",
    "account.reachable": "Account can be reached again",
    "account.unreachable": "Account cannot be reached",
    "archive.reopened": "Another part found of archive",
    "channel.count_differs": "Number of messages differs",
    "channel.history_closed": "No permission to read the history of",
    "destination.closed": "Nothing can be copied to",
    "destination.opened": "Copying works again to",
    "filing.paused": "Copying paused",
    "filing.resumed": "Copying resumed",
    "list.removed": "List deleted",
    "media.failed": "File not fetched",
    "media.kept": "Files kept",
    "media.paused": "Fetching files paused",
    "media.policy_changed": "Storage rules changed",
    "media.removed": "Files deleted",
    "media.resumed": "Fetching files resumed",
    "pace.clock_went_back": "Clock of the database was set back",
    "reminder.disabled": "Reminder turned off",
    "reminder.enabled": "Reminder turned on",
    "reminder.removed": "Reminder deleted",
    "sign_in.ended_everywhere": "Signed out everywhere",
    "sign_in.password_set": "Password changed",
    "worker.came_back": "Worker answers again",
    "worker.silent": "Worker does not answer",
}
"""Kinds whose name is not what a person would call them."""

_QUIET = frozenset({"archive.progressed", "backfill.progressed", "cycle.ended"})
"""Kinds that are too many for a glance; the log has them."""


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """One line: a *title*, what it is about, further words, and when it last happened."""

    kind: str
    title: str
    subject: str
    words: str
    at: datetime
    messages: int = 0
    archives: int = 0


Places = Mapping[ChannelId, HasPlace]

_OF_A_CHANNEL = ("channel.", "backfill.", "reconcile.", "destination.", "media.removed")
"""Events whose subject is a channel."""


def channels_in(events: Iterable[Event]) -> Collection[ChannelId]:
    """The channels that events are about, by their ids."""
    return {number for event in events if (number := _channel_of(event)) is not None}


def _channel_of(event: Event) -> ChannelId | None:
    number = event.data.get("channel") if event.kind.startswith(_OF_A_CHANNEL) else None
    return ChannelId(number) if isinstance(number, int) else None


def line(event: Event, places: Places) -> ActivityLine:
    """An event in the words of a person; a channel has its full name."""
    title = TITLES.get(event.kind) or event.kind.replace(".", " ").replace("_", " ").capitalize()
    parsed = event.parsed()
    read = (parsed.messages, parsed.archives) if isinstance(parsed, ChannelRead) else (0, 0)
    number = _channel_of(event)
    subject = event.subject if number is None else full_name(event.subject, places.get(number))
    return ActivityLine(event.kind, title, subject, event_summary(event), event.at, *read)


def grouped_lines(newest_first: Iterable[Event], most: int, places: Places) -> list[ActivityLine]:
    """The newest *most* lines; what was read of one channel is one line with the sum of it."""
    lines: dict[tuple[str, str], ActivityLine] = {}
    for event in newest_first:
        if event.kind in _QUIET:
            continue
        one = line(event, places)
        key = (one.kind, one.subject if one.kind == ChannelRead.kind else f"{one.subject} {one.words}")
        if key in lines:
            lines[key] = _joined(lines[key], one)
        elif len(lines) < most:
            lines[key] = one
    return list(lines.values())


def _joined(newer: ActivityLine, older: ActivityLine) -> ActivityLine:
    if newer.kind != ChannelRead.kind:
        return newer
    messages, archives = newer.messages + older.messages, newer.archives + older.archives
    words = [counted(messages, "message"), *([counted(archives, "archive")] if archives else [])]
    return replace(newer, messages=messages, archives=archives, words=", ".join(words))
