"""A private test: sends a reminder to the account's own chat, which no group sees. It makes no run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from tidegate.accounts.queries import accounts
from tidegate.core.account import Account, AccountState
from tidegate.core.errors import BadInput, NotNow, TidegateError
from tidegate.core.ids import ChannelId, CommandId, ReminderId
from tidegate.database.pool import Connection, Database
from tidegate.lanes import Lane
from tidegate.platforms.interface import SendKey
from tidegate.platforms.interface.uploads import Media, MediaKind
from tidegate.reminders.queries import media_files, reminders
from tidegate.reminders.queries.reminders import KeptReminder
from tidegate.reminders.queries.run_freeze import NewRunPart
from tidegate.reminders.runs.media_uploads import RunUploads, UploadFailed
from tidegate.reminders.runs.run_plan import RunPlan, make_plan
from tidegate.workers.queries import commands

TEST_PRIVATELY = "test_privately"
"""The command that has an account's worker send a private test."""


async def require_own_chat(connection: Connection, kept: KeptReminder) -> Account:
    """The account of a reminder; a sentence where the reminder cannot be tested privately now."""
    if kept.everything_is_paused:
        raise NotNow("Every run is paused, so nothing is sent. Go on with: tidegate runs resume --all")
    if not kept.platform.has_own_chat:
        brand = kept.platform.brand
        raise BadInput(
            f"An account on {brand} has no chat of its own: {brand} lets none write to itself. Try it on one group: "
            f'tidegate reminder test "{kept.name}" --target GROUP'
        )
    await make_plan(connection, kept, at=kept.now)
    account = (await accounts.find(connection, kept.account_name)).account
    if account.state is not AccountState.ACTIVE:
        raise TidegateError(account.stands)
    return account


async def ask_private_test(connection: Connection, kept: KeptReminder) -> CommandId:
    """Have the account's worker send a reminder to the account's own chat."""
    account = await require_own_chat(connection, kept)
    return await commands.ask(connection, account.id, TEST_PRIVATELY, {"reminder": kept.id})


async def send_to_self(
    lane: Lane, database: Database, reminder: ReminderId, *, dice: Callable[[], float]
) -> dict[str, Any]:
    """Send every message of a reminder to the account's own chat, as its first group would get it."""
    if lane.own_chat is None:
        raise BadInput(f'The account "{lane.account.name}" has no chat of its own.')
    async with database.connection() as connection:
        kept = await reminders.find(connection, reminder)
        plan = await make_plan(connection, kept, at=kept.now)
        files = await media_files.known(connection, list(kept.files.values()))
    first = next((place for place, one in enumerate(plan.targets) if not one.error), 0)
    uploads = RunUploads(lane, database, None, dice=dice)
    for part, text in zip(plan.parts, _texts_of(plan, first), strict=True):
        await _send(lane, uploads, lane.own_chat, _media(part, files), text)
    return {
        "reminder": kept.name,
        "account": kept.account_name,
        "sent": len(plan.parts),
        "as": plan.targets[first].title,
    }


def _texts_of(plan: RunPlan, place: int) -> list[str]:
    count = len(plan.parts)
    return list(plan.texts[place * count : (place + 1) * count])


def _media(part: NewRunPart, files: dict[bytes, media_files.KeptFile]) -> Media | None:
    if part.media is None:
        return None
    file = files[part.media]
    return Media(file.sha256, str(part.file_name), file.mime, file.size, MediaKind(part.kind))


async def _send(lane: Lane, uploads: RunUploads, chat: ChannelId, file: Media | None, text: str) -> None:
    key = SendKey(str(uuid4()))
    if file is None:
        await lane.send(chat, text, key=key)
        return
    try:
        reference = await uploads.once(file)
    except UploadFailed as failed:
        raise TidegateError(failed.cause) from failed
    await lane.post(chat, file, reference, caption=text, key=key)
