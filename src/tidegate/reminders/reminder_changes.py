"""Adds and changes stored reminders, with the groups and files that each names at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tidegate.accounts.queries import accounts
from tidegate.core.errors import BadInput, NothingToDo, NotThere
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection, now_of
from tidegate.reminders.definition import Reminder
from tidegate.reminders.queries import media_files, reminders, target_lists, targets
from tidegate.reminders.queries.reminders import KeptReminder, SavedReminder
from tidegate.reminders.queries.runs import LOOK_AT_RUNS
from tidegate.reminders.reminder_files import ReadFile, media_names
from tidegate.reminders.rules.schedule import next_firing
from tidegate.workers.queries import commands

_NONE: Mapping[str, bytes] = {}


async def add(
    connection: Connection,
    reminder: Reminder,
    files: Mapping[str, ReadFile],
    *,
    sent_ahead: Mapping[str, bytes] = _NONE,
) -> KeptReminder:
    """Store a new reminder, inside a transaction; ``BadInput`` for a group, list or account that does not exist.

    Its files are read now, or were *sent ahead*: stored before, and named by the hash of their content.
    """
    kept = await reminders.add(connection, await _saved(connection, reminder, files, {}, sent_ahead))
    await commands.ask_once(connection, kept.account, LOOK_AT_RUNS)
    return kept


async def change(
    connection: Connection,
    kept: KeptReminder,
    reminder: Reminder,
    files: Mapping[str, ReadFile],
    *,
    sent_ahead: Mapping[str, bytes] = _NONE,
) -> KeptReminder:
    """Store a reminder as it is written now; files that are not new stay as they were."""
    saved = await _saved(connection, reminder, files, kept.files, sent_ahead)
    changed = await reminders.change(connection, kept.id, saved)
    await commands.ask_once(connection, changed.account, LOOK_AT_RUNS)
    return changed


async def set_enabled(connection: Connection, kept: KeptReminder, *, on: bool) -> datetime | None:
    """Have a locked reminder sent by its schedule, or only by hand until it is enabled again; returns its next firing.

    ``NothingToDo`` where it is so already, ``BadInput`` where no firing is left.
    """
    reminder = kept.reminder
    if reminder.schedule is None:
        raise BadInput(f'"{kept.name}" has no schedule: it is sent only by hand, so there is nothing to turn off.')
    if reminder.enabled is on:
        raise NothingToDo(f'"{kept.name}" is {"on" if on else "off"} already.')
    due_at = next_firing(reminder.schedule, reminder.window.zone, kept.now) if on else None
    if on and due_at is None:
        raise BadInput(f'The date of "{kept.name}" lies in the past. Give it a later one first.')
    await reminders.set_enabled(connection, kept, on=on, due_at=due_at)
    await commands.ask_once(connection, kept.account, LOOK_AT_RUNS)
    return due_at


async def _saved(
    connection: Connection,
    reminder: Reminder,
    files: Mapping[str, ReadFile],
    before: Mapping[str, bytes],
    sent_ahead: Mapping[str, bytes],
) -> SavedReminder:
    """A reminder with what is stored beside it; *before* has the files it had."""
    known = await media_files.known(connection, sent_ahead.values())
    for name, sha256 in sent_ahead.items():
        if sha256 not in known:
            raise BadInput(f'The file "{name}" is no longer here. Choose it again, or send it again.')
    chosen = reminder.targets.list_name
    try:
        account = (await accounts.find(connection, reminder.account)).account.id
        saved_list = None if chosen is None else (await target_lists.find(connection, chosen)).id
    except NotThere as problem:
        raise BadInput(str(problem)) from None
    now, due_at = await now_of(connection), None
    groups = await targets.named(connection, account, reminder.targets.named)
    if reminder.schedule is not None and reminder.enabled:
        due_at = next_firing(reminder.schedule, reminder.window.zone, now)
        if due_at is None:
            raise BadInput(
                "The schedule has no firing left: its date lies in the past. Give a later one, or leave it out."
            )
    names: dict[ChannelKey | None, str] = {}
    for name, group in groups.items():
        if (same := names.setdefault(group.channel, name)) != name:  # it would get everything twice
            raise BadInput(f'"{same}" and "{name}" are the same group; name it once.')
    channels = {name: group.channel for name, group in groups.items()}
    kept = await _kept_files(connection, reminder, files, {**before, **sent_ahead})
    return SavedReminder(reminder, account, due_at, channels, saved_list, kept)


async def _kept_files(
    connection: Connection, reminder: Reminder, files: Mapping[str, ReadFile], kept: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The content of each file the reminder names, stored now or before."""
    found = {}
    for name in media_names(reminder):
        if name in files:
            file = files[name]
            found[name] = (await media_files.keep(connection, file.sha256, file.content, file.mime)).sha256
        elif name in kept:
            found[name] = kept[name]
        else:
            raise BadInput(
                f'The file "{name}" is not kept with this reminder; send it ahead, and name it by its hash, or read it '
                "from the disk with: tidegate reminder edit --read-again"
            )
    return found
