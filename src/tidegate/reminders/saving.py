"""A reminder kept as it was written, with the groups and files it names at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tidegate.errors import BadInput, NotThere
from tidegate.reminders.files import ReadFile
from tidegate.reminders.reminder import Reminder
from tidegate.reminders.waking import wake_owner
from tidegate.reminders.written import as_written
from tidegate.rules.scheduling import next_firing
from tidegate.store import accounts, media, reminders, target_lists, targets
from tidegate.store.database import Connection
from tidegate.store.reminders import KeptReminder, Saved
from tidegate.words import AccountId, ReminderId

_NONE: Mapping[str, bytes] = {}


async def add(
    connection: Connection,
    reminder: Reminder,
    files: Mapping[str, ReadFile],
    *,
    sent_ahead: Mapping[str, bytes] = _NONE,
) -> ReminderId:
    """Keep a new reminder, inside a transaction; ``BadInput`` for a group, list or account there is not.

    Its files are read now, or were *sent ahead*: kept already, and named by the hash of their content.
    """
    await _require_kept(connection, sent_ahead)
    saved = await _saved(connection, reminder, files, kept=sent_ahead)
    number = await reminders.add(connection, saved)
    await wake_owner(connection, saved.account)
    return number


async def change(
    connection: Connection,
    kept: KeptReminder,
    reminder: Reminder,
    files: Mapping[str, ReadFile],
    *,
    sent_ahead: Mapping[str, bytes] = _NONE,
) -> ReminderId:
    """Keep a reminder as it is written now; files that are not new stay as they were."""
    await _require_kept(connection, sent_ahead)
    saved = await _saved(connection, reminder, files, kept={**kept.files, **sent_ahead})
    await reminders.change(connection, kept.id, saved)
    await wake_owner(connection, saved.account)
    return kept.id


async def _saved(
    connection: Connection, reminder: Reminder, files: Mapping[str, ReadFile], *, kept: Mapping[str, bytes]
) -> Saved:
    account, saved_list = await _named(connection, reminder)
    now: datetime = await connection.fetchval("SELECT clock_now()")
    groups = await targets.named(connection, account, reminder.targets.named)
    return Saved(
        name=reminder.name,
        account=account,
        written=as_written(reminder),
        start_hour=reminder.window.start_hour,
        end_hour=reminder.window.end_hour,
        timezone=reminder.window.zone.key,
        due_at=_due(reminder, now),
        named=list(groups),
        channels=_each_once(groups),
        list=saved_list,
        files=await _kept_files(connection, reminder, files, kept),
    )


async def _named(connection: Connection, reminder: Reminder) -> tuple[AccountId, int | None]:
    """Our numbers of its account and its list; what is not there is wrong in what was written, not in who asks."""
    chosen = reminder.targets.list_name
    try:
        account = (await accounts.find(connection, reminder.account)).account.id
        return account, None if chosen is None else (await target_lists.find(connection, chosen)).id
    except NotThere as problem:
        raise BadInput(str(problem)) from None


async def _require_kept(connection: Connection, sent_ahead: Mapping[str, bytes]) -> None:
    known = await media.known(connection, sent_ahead.values())
    for name, sha256 in sent_ahead.items():
        if sha256 not in known:
            raise BadInput(f'The file "{name}" is no longer here. Choose it again, or send it again.')


def _each_once(groups: Mapping[str, targets.Group]) -> list[int | None]:
    """Our numbers of the groups; a sentence when two names mean the same one, which would get everything twice."""
    seen: dict[int | None, str] = {}
    for name, group in groups.items():
        if group.channel in seen:
            raise BadInput(f'"{seen[group.channel]}" and "{name}" are the same group; name it once.')
        seen[group.channel] = name
    return list(seen)


def _due(reminder: Reminder, now: datetime) -> datetime | None:
    if reminder.schedule is None:
        return None
    due = next_firing(reminder.schedule, reminder.window.zone, now)
    if due is None:
        raise BadInput("The schedule has no firing left: its date lies in the past. Give a later one, or leave it out.")
    return due


async def _kept_files(
    connection: Connection, reminder: Reminder, files: Mapping[str, ReadFile], kept: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The content of each file the reminder names, kept now or before."""
    found = {}
    for name in dict.fromkeys(part.media for part in reminder.parts if part.media is not None):
        if name in files:
            file = files[name]
            found[name] = (await media.keep(connection, file.sha256, file.content, file.mime)).sha256
        elif name in kept:
            found[name] = kept[name]
        else:
            raise BadInput(f'The file "{name}" is not kept with this reminder; send it ahead, and name it by its hash.')
    return found
