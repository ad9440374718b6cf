"""The rest of a run as a reminder of its own, for another account; a person fires it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidegate.accounts.queries import accounts
from tidegate.core.errors import BadInput, NothingToDo, NotNow
from tidegate.core.ids import ReminderId, RunId
from tidegate.database.pool import Connection
from tidegate.platforms.interface.uploads import MediaKind
from tidegate.reminders import reminder_changes
from tidegate.reminders.definition import BegunTarget, Reminder, ReminderPart, ReminderPolicies, Targets, WhenClosed
from tidegate.reminders.queries import reminders, run_parts, run_targets, runs
from tidegate.reminders.queries.run_targets import LeftTarget
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.placeholders import template_of
from tidegate.reminders.rules.run_summary import RunState
from tidegate.reminders.rules.send_states import SendState

_LEFT = (SendState.PENDING, SendState.SKIPPED, SendState.FAILED)
_AT_REST = (RunState.ENDED, RunState.PAUSED, RunState.NEEDS_ATTENTION)
_LONGEST_NAME = 150
_NAMED = 10  # groups in a sentence
_NOT_REACHED = (SendState.PENDING, SendState.SKIPPED, SendState.FAILED)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A group that has not all of a run and is not in its remainder either."""

    target: str
    why: str


@dataclass(frozen=True, slots=True)
class Remainder:
    """The reminder that was made: its number and name, how many groups it goes to, and who is left out of it."""

    id: ReminderId
    name: str
    targets: int
    left_out: Sequence[LeftOut]


async def make_remainder(connection: Connection, number: RunId, account: str) -> Remainder:
    """Make a reminder of the groups that a run did not reach, to be sent by *account*; inside a transaction.

    Groups with an unknown or a sent part are left out: they would get something twice. What the run would still
    have sent to the others is skipped in it.
    """
    run = await runs.find(connection, number, lock=True)
    if run.state not in _AT_REST:
        raise NotNow(f"Run {number} is still to send what is left. Pause it first: tidegate runs pause {number}")
    other = (await accounts.find(connection, account)).account
    left = await run_targets.left_of(connection, number, other.id)
    why = {one.number: _why_not(one, other.name) for one in left}
    taken = [one for one in left if not why[one.number]]
    left_out = [LeftOut(one.title, why[one.number]) for one in left if why[one.number]]
    if not taken:
        raise NothingToDo(await _why_nothing(connection, number, other.name, left_out))
    reminder, files = await _reminder(connection, run, other.name, taken)
    made = await reminder_changes.add(connection, reminder, {}, sent_ahead=files)
    await reminders.note_rest(connection, made.id, number, reminder.name)
    await run_parts.leave_to(connection, number, [one.number for one in taken], reminder.name)
    return Remainder(made.id, reminder.name, len(taken), left_out)


async def _why_nothing(connection: Connection, run: RunId, account: str, left_out: Sequence[LeftOut]) -> str:
    there = await reminders.rests_of(connection, run)
    made = " ".join(
        f'The reminder "{one.name}" has what is left of it already; its number is {one.id}.' for one in there
    )
    shown = left_out[:_NAMED]
    named = " ".join(f'"{one.target}": {one.why}' for one in shown)
    others = f"And {len(left_out) - _NAMED:,} more groups." if len(left_out) > _NAMED else ""
    return " ".join(filter(None, [f'Nothing of run {run} can be sent from "{account}".', made, named, others]))


def _why_not(one: LeftTarget, account: str) -> str:
    """Why a group is not in the remainder; empty where it is."""
    if one.state not in _LEFT or one.doubtful:
        return "Nobody knows whether a message has arrived there."
    if any(state not in _NOT_REACHED for state in one.states):
        return "It has a part of it already."
    if one.left_to:
        return f'It was left to the reminder "{one.left_to}" before.'
    if one.channel is None:
        return "This group no longer exists."
    if one.may_post is None:
        return f'"{account}" is not in this group.'
    return "" if one.may_post else f'"{account}" may not write to this group.'


async def _reminder(
    connection: Connection, run: Run, account: str, taken: Sequence[LeftTarget]
) -> tuple[Reminder, dict[str, bytes]]:
    """The reminder and the content of its files, as the run was frozen."""
    parts, files = [], dict[str, bytes]()
    for place, frozen in enumerate(await run_targets.frozen_run_parts(connection, run.id)):
        text = template_of([(one.title, one.texts[place]) for one in taken])
        if text is None:
            raise BadInput(
                f"Message {place + 1} of run {run.id} differs from group to group; write a reminder for them."
            )
        if frozen.media is None:
            parts.append(ReminderPart(text))
            continue
        name = str(frozen.file_name)
        if files.setdefault(name, frozen.media) != frozen.media:  # two files of one name in different folders
            name = f"{place + 1} {name}"
            files[name] = frozen.media
        parts.append(ReminderPart(text, name, MediaKind(frozen.kind)))
    policies = ReminderPolicies(
        when_window_closes=WhenClosed.RESUME_NEXT if run.resumes_next else WhenClosed.STOP,
        when_unknown=run.when_unknown,
        begun_target=BegunTarget.FINISH if run.finishes_begun else BegunTarget.STRICT,
    )
    name = _name(run, await run_targets.names_left_to(connection, run.id))
    targets = Targets(named=[str(one.channel) for one in taken])
    return Reminder(name, account, targets, parts, run.window, None, policies), files


def _name(run: Run, taken: Collection[str]) -> str:
    """What the reminder is called; a later one for other groups of the same run has a number."""
    named = f"{run.name[:_LONGEST_NAME]} (rest of run {run.id}"
    numbered = (f"{named}, {number})" for number in itertools.count(2))
    return next(name for name in itertools.chain([f"{named})"], numbered) if name not in taken)
