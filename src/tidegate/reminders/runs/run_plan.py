"""What a firing will send to whom, planned before anything is stored or sent; makes no platform call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.channels.rules.channel_names import full_name
from tidegate.core.errors import BadInput
from tidegate.database.pool import Connection
from tidegate.lanes.rules.send_hours import SendWindow, WindowDay
from tidegate.platforms.interface.group_numbers import NamedGroups
from tidegate.reminders.definition import Reminder, ReminderPart, WhenClosed
from tidegate.reminders.queries import targets
from tidegate.reminders.queries.reminders import KeptReminder
from tidegate.reminders.queries.run_freeze import NewRunPart, NewTarget
from tidegate.reminders.queries.targets import TargetGroup
from tidegate.reminders.rules.media_names import sent_file_name
from tidegate.reminders.rules.placeholders import fill
from tidegate.reminders.rules.platform_limits import too_large, too_long

MOST_MESSAGES = 100_000
"""Messages of one run; at the usual 40 a minute they take 42 hours."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A firing as it would be frozen. *texts* are those of all parts, target after target."""

    kept: KeptReminder
    reminder: Reminder
    targets: Sequence[NewTarget]
    parts: Sequence[NewRunPart]
    texts: Sequence[str]

    @property
    def sends(self) -> int:
        """How many messages will be sent; targets that have failed already get none."""
        return len(self.parts) * sum(not one.error for one in self.targets)

    @property
    def warnings(self) -> list[str]:
        """What the operator should know before the first send."""
        return [f'"{full_name(one.title, one)}": {one.error}' for one in self.targets if one.error]


async def make_plan(connection: Connection, kept: KeptReminder, *, at: datetime, only: str | None = None) -> RunPlan:
    """The plan of a firing at that instant; ``BadInput`` says why it is refused. *only* is one group, for a test."""
    reminder = kept.reminder
    groups = await targets.of_reminder(connection, kept.id)
    if only is not None:
        groups = [_only(kept, groups, only)]
    if not groups:
        raise BadInput(f'The reminder "{kept.name}" goes to nobody: {_why_nobody(reminder)}')
    if len(groups) * len(reminder.parts) > MOST_MESSAGES:
        raise BadInput(
            f'The reminder "{kept.name}" would be {len(groups) * len(reminder.parts):,} messages, to {len(groups):,} '
            f"groups; a run has {MOST_MESSAGES:,} at most. Make several reminders of it."
        )
    return await asyncio.to_thread(_planned, kept, reminder, groups, at)  # thousands of groups would block the loop


def _planned(kept: KeptReminder, reminder: Reminder, groups: Sequence[TargetGroup], at: datetime) -> RunPlan:
    local = at.astimezone(reminder.window.zone)
    words = {"date": f"{local:%Y-%m-%d}", "time": f"{local:%H:%M}", "reminder": reminder.name}
    try:
        filled = [[fill(part.text, {**words, "group": group.title}) for part in reminder.parts] for group in groups]
    except ValueError as problem:
        raise BadInput(f"{problem} Nothing was sent.") from problem
    parts = _run_parts_taken(kept, reminder, groups, {**words, "group": ""})
    refusals = [_why_not(kept, group, reminder.parts, texts) for group, texts in zip(groups, filled, strict=True)]
    new = [
        NewTarget(group.channel, group.title, error, group.server, group.parent_title)
        for group, error in zip(groups, refusals, strict=True)
    ]
    return RunPlan(kept, reminder, new, parts, [text for texts in filled for text in texts])


def first_opening(window: SendWindow, now: datetime, *, late: WhenClosed) -> WindowDay:
    """The window a run fired at *now* sends in.

    Fired before it opens, a run waits. Fired after that day's window has closed, it gets that window and so sends
    nothing, as the seed says. Where the operator wants it to wait, it gets the next one.
    """
    of_day = window.of_firing(now)
    if of_day is not None and of_day.closes <= now and late is WhenClosed.STOP:
        return of_day
    return window.next(now)


def missed(reminder: Reminder, now: datetime) -> tuple[WindowDay, WindowDay] | None:
    """The window that has closed and the next one, where a run fired now would send nothing; else None."""
    opening = first_opening(reminder.window, now, late=reminder.policies.when_fired_late)
    return None if now < opening.closes else (opening, reminder.window.next(now))


def _only(kept: KeptReminder, groups: Sequence[TargetGroup], name: str) -> TargetGroup:
    meant = NamedGroups((one.title, one.number, one) for one in groups).meant_by(name)
    if len(meant) != 1:
        raise BadInput(
            f'The reminder "{kept.name}" goes to {"several groups" if meant else "no group"} called "{name}"; '
            "give the number of one of its groups, which tidegate channel list shows."
        )
    return meant[0]


def _why_nobody(reminder: Reminder) -> str:
    if reminder.targets.list_name is not None:
        return f'the list "{reminder.targets.list_name}" is empty. Fill it with: tidegate reminder targets'
    return "the account may post in no group it knows of. Look for new ones with: tidegate channel sync"


def _run_parts_taken(
    kept: KeptReminder, reminder: Reminder, groups: Sequence[TargetGroup], words: Mapping[str, str]
) -> list[NewRunPart]:
    """The messages of a run, without their texts. What no group takes is refused: it would fail in each of them."""
    widest = max(groups, key=lambda group: group.largest_file or 0)
    among = f", the most generous of its {len(groups)} groups," if len(groups) > 1 else ""
    parts: list[NewRunPart] = []
    for number, part in enumerate(reminder.parts, 1):
        if part.media is not None and part.media not in kept.files:
            raise BadInput(
                f'The file "{part.media}" of the reminder "{kept.name}" is missing; save it again with the file.'
            )
        large = _too_large(kept, part, widest, f'"{widest.title}"{among}')
        if why := large or too_long(kept.platform, fill(part.text, words), caption=part.media is not None):
            raise BadInput(f'Message {number} of the reminder "{kept.name}" cannot be sent: {why}.')
        if part.media is None or part.kind is None:
            parts.append(NewRunPart("text"))
        else:
            parts.append(NewRunPart(part.kind.value, kept.files[part.media], sent_file_name(part.media)))
    return parts


def _too_large(kept: KeptReminder, part: ReminderPart, group: TargetGroup, where: str) -> str:
    """Why a group would not take a message's file; empty where it does."""
    if part.media is None:
        return ""
    return too_large(kept.platform, kept.sizes[part.media], largest=group.largest_file, where=where)


def _why_not(kept: KeptReminder, group: TargetGroup, parts: Sequence[ReminderPart], texts: Sequence[str]) -> str:
    """Why nothing can be sent to a group, or not what other groups take; empty where all of it can."""
    if group.channel is None or group.state == "deleted":
        return "This group no longer exists."
    if not group.may_post:
        unseen = "The account does not see this group; if it is in it, look again with: tidegate channel sync."
        barred = "The account may not post in this group; have it made an admin, then: tidegate channel sync."
        return unseen if group.may_post is None else barred
    if not group.title and any("{group}" in part.text for part in parts):
        return "The text names the group, and this one has no name."
    for part, text in zip(parts, texts, strict=True):
        if large := _too_large(kept, part, group, "this group"):
            return f"It cannot be sent: {large}."
        if long := too_long(kept.platform, text, caption=part.media is not None):
            return f"With this group's name {long}."
    return ""
