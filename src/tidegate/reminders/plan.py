"""What a firing will send to whom, worked out before anything is stored or sent; it spends no call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.errors import BadInput
from tidegate.reminders.reminder import Reminder, ReminderPart, WhenClosed
from tidegate.reminders.written import checked
from tidegate.rules.numbering import means
from tidegate.rules.taking import too_large, too_long
from tidegate.rules.window import Opening, Window
from tidegate.store import targets
from tidegate.store.database import Connection
from tidegate.store.reminders import KeptReminder
from tidegate.store.run_opening import NewPart, NewTarget
from tidegate.store.targets import Group


@dataclass(frozen=True, slots=True)
class Plan:
    """A firing as it would be frozen. *texts* are those of all parts, target after target."""

    kept: KeptReminder
    reminder: Reminder
    targets: Sequence[NewTarget]
    parts: Sequence[NewPart]
    texts: Sequence[str]

    @property
    def sends(self) -> int:
        """How many messages leave; targets that have failed already get none."""
        return len(self.parts) * sum(not one.error for one in self.targets)

    @property
    def warnings(self) -> list[str]:
        """What the operator should know before the first send."""
        return [f'"{one.title}": {one.error}' for one in self.targets if one.error]


async def make_plan(connection: Connection, kept: KeptReminder, *, at: datetime, only: str | None = None) -> Plan:
    """The plan of a firing at that instant; ``BadInput`` says why it is refused. *only* that one group, for a test."""
    reminder = checked(kept.written)
    groups = await targets.of_reminder(connection, kept.id)
    if only is not None:
        groups = [_only(kept, groups, only)]
    if not groups:
        raise BadInput(f'The reminder "{kept.name}" goes to nobody: {_why_nobody(reminder)}')
    parts = [_part(kept, part) for part in reminder.parts]
    words = _words(reminder, at)
    filled = [[_filled(part.text, {**words, "group": group.title}) for part in reminder.parts] for group in groups]
    _insist_on_what_is_taken(kept, reminder, groups, {**words, "group": ""})
    new = [
        NewTarget(group.channel, group.title, _why_not(kept, group, reminder.parts, texts))
        for group, texts in zip(groups, filled, strict=True)
    ]
    return Plan(kept, reminder, new, parts, [text for texts in filled for text in texts])


def first_opening(window: Window, now: datetime, *, late: WhenClosed) -> Opening:
    """The window a run fired at *now* sends in.

    Fired before it opens, a run waits. Fired after that day's window has closed, it gets that very window and so sends
    nothing (the seed's way), or the next one where the operator wants it to wait.
    """
    of_day = window.of_firing(now)
    if of_day is not None and of_day.closes <= now and late is WhenClosed.STOP:
        return of_day
    return window.next(now)


def _only(kept: KeptReminder, groups: Sequence[Group], name: str) -> Group:
    meant = [one for one in groups if means(name, one.title, one.number)]
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


def _part(kept: KeptReminder, part: ReminderPart) -> NewPart:
    if part.media is None or part.kind is None:
        return NewPart("text")
    if part.media not in kept.files:
        raise BadInput(
            f'The file "{part.media}" of the reminder "{kept.name}" is missing; save it again with the file.'
        )
    return NewPart(part.kind.value, kept.files[part.media], part.media.rpartition("/")[2])


def _words(reminder: Reminder, at: datetime) -> dict[str, str]:
    local = at.astimezone(reminder.window.zone)
    return {"date": f"{local:%Y-%m-%d}", "time": f"{local:%H:%M}", "reminder": reminder.name}


def _filled(text: str, words: Mapping[str, str]) -> str:
    try:
        return text.format_map(words)
    except (KeyError, ValueError, IndexError, AttributeError) as problem:
        raise BadInput(f"A text has a placeholder that nothing fills: {problem}. Nothing was sent.") from problem


def _insist_on_what_is_taken(
    kept: KeptReminder, reminder: Reminder, groups: Sequence[Group], words: Mapping[str, str]
) -> None:
    """Refuse what none of the groups takes: it would fail in each of them, one by one."""
    widest = max(groups, key=lambda group: group.largest_file or 0)
    among = f", the most generous of its {len(groups)} groups," if len(groups) > 1 else ""
    for number, part in enumerate(reminder.parts, 1):
        large = _too_large(kept, part, widest, f'"{widest.title}"{among}')
        if why := large or _too_long(kept, part, _filled(part.text, words)):
            raise BadInput(f'Message {number} of the reminder "{kept.name}" cannot be sent: {why}.')


def _too_large(kept: KeptReminder, part: ReminderPart, group: Group, where: str) -> str:
    """Why a group would not take a message's file; empty where it does."""
    if part.media is None:
        return ""
    return too_large(kept.platform, kept.sizes[part.media], largest=group.largest_file, where=where)


def _too_long(kept: KeptReminder, part: ReminderPart, text: str) -> str:
    return too_long(kept.platform, text, caption=part.media is not None)


def _why_not(kept: KeptReminder, group: Group, parts: Sequence[ReminderPart], texts: Sequence[str]) -> str:
    """Why nothing can be sent to a group; empty where it can."""
    if group.channel is None or group.state == "deleted":
        return "This group no longer exists."
    if group.may_post is None:
        return "The account does not see this group; if it is in it, look again with: tidegate channel sync."
    if not group.may_post:
        return "The account may not post in this group; have it made an admin, then: tidegate channel sync."
    if not group.title and any("{group}" in part.text for part in parts):
        return "The text names the group, and this one has no name."
    return _not_taken(kept, group, parts, texts)


def _not_taken(kept: KeptReminder, group: Group, parts: Sequence[ReminderPart], texts: Sequence[str]) -> str:
    """Why this group would not take a message that others take; empty where it does."""
    for part, text in zip(parts, texts, strict=True):
        if large := _too_large(kept, part, group, "this group"):
            return f"It cannot be sent: {large}."
        if long := _too_long(kept, part, text):
            return f"With this group's name {long}."
    return ""
