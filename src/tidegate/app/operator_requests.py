"""What the operator asks for in a command, over the API or on a page: checked, stored, or sent to the worker.

Each runs in the caller's transaction, and refuses with a sentence for the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidegate.accounts.queries import accounts
from tidegate.app.account_commands import require_active
from tidegate.app.composition import allowance_of
from tidegate.app.settings import Settings
from tidegate.archives.queries import filing_queue
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel, MirrorOptions
from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.durations import parse_span
from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.ids import ChannelKey, CommandId, TopicId
from tidegate.database.pool import Connection, now_of
from tidegate.lanes.queries import pace
from tidegate.media.queries import media_rules
from tidegate.reminders.queries import reminders
from tidegate.search.rules.query_language import Here, read_instant
from tidegate.workers.queries import commands, workers


@dataclass(frozen=True, slots=True)
class MirrorRequest:
    """How a channel is to be mirrored."""

    topics: Sequence[TopicId] = ()
    full: bool = False
    hashed: bool = False
    destination: str | None = None  # another channel's number or title
    keep: bool = False


async def enable(connection: Connection, kept: KnownChannel, wanted: MirrorRequest) -> str:
    """Mirror a channel from the next cycle on; returns a notice for the operator, or an empty text."""
    _require_possible(kept, wanted)
    unchecked = await _check_topics(connection, kept, wanted.topics) if wanted.topics else ""
    target = None if wanted.destination is None else await _destination(connection, wanted.destination)
    if target == kept.key:
        raise BadInput("A channel cannot be its own destination; name another one.")
    if target is not None and await filing_queue.goes_round(connection, kept.key, target):
        raise BadInput("Its archives would be copied on from there until they are back; name another channel.")
    await channels.enable(connection, kept, MirrorOptions(tuple(wanted.topics), wanted.full, wanted.hashed, target))
    await media_rules.keep_archives(connection, kept.key, keep=wanted.keep)
    unseen = "" if kept.seen_by else "No account sees it at the moment: tidegate channel sync ACCOUNT."
    return " ".join(one for one in (unchecked, unseen) if one)


async def check_soon(connection: Connection, keys: Sequence[ChannelKey]) -> None:
    """Have channels that were just enabled checked at once, where a worker serves their accounts."""
    readers = {one.reader for one in (await channels.of_keys(connection, list(keys))).values()}
    for reader in sorted(one for one in readers if one is not None):
        if await workers.serves(connection, reader):
            await commands.ask_once(connection, reader, "cycle")


def _require_possible(kept: KnownChannel, wanted: MirrorRequest) -> None:
    """Refuse what the channel's platform cannot do."""
    brand = kept.platform.brand
    if not kept.platform.can_be_mirrored:
        raise BadInput(
            f'"{kept.title}" is a group on {brand}, which cannot be mirrored. It can get reminders: '
            "tidegate reminder add FILE"
        )
    about_archives = wanted.hashed or wanted.keep or wanted.destination is not None
    if kept.is_private_chat and about_archives:
        raise BadInput("Archives are not collected in private chats, so leave --hash, --keep and --destination out.")
    if not kept.platform.has_archives and about_archives:
        raise BadInput(f"Archives are not collected on {brand}, so leave --hash, --keep and --destination out.")


async def _destination(connection: Connection, named: str) -> ChannelKey:
    """Our key of the channel that archives are filed to."""
    found = await channels.find(connection, named)
    if not found.platform.has_archives:
        raise BadInput(f'Archives cannot be copied to "{found.title}": it is on {found.platform.brand}. Name another.')
    if found.is_private_chat:
        raise BadInput(f'Archives cannot be copied to "{found.title}": it is a private chat. Name another.')
    return found.key


async def _check_topics(connection: Connection, kept: KnownChannel, topics: Sequence[TopicId]) -> str:
    """Refuse topics that do not exist; returns a notice where they were never listed. Makes no platform call."""
    if not kept.forum:
        raise BadInput(f'"{kept.title}" is no forum, so it has no topics; leave --topic out.')
    unknown = ", ".join(map(str, await channels.unknown_topics(connection, kept.key, topics)))
    if not unknown:
        return ""
    if await channels.topics_were_listed(connection, kept.key):
        raise BadInput(
            f'"{kept.title}" has no topic {unknown} that Tidegate knows of. See its topics with: tidegate channel show '
            f"{kept.number}; one that is new is known after: tidegate channel sync ACCOUNT."
        )
    return (
        f"Its topics were never listed: the first cycle checks {unknown}, and what is not there is shown as gone in "
        "tidegate channel show."
    )


def require_history(kept: KnownChannel) -> None:
    """Refuse a channel without a history that can be read."""
    if not (kept.enabled and kept.in_full) or kept.by_topic:
        raise BadInput(
            f'"{kept.title}" is not mirrored in full. Do that with: tidegate channel enable {kept.number} --full'
        )
    if kept.reader is None:
        raise BadInput(f'No account sees "{kept.title}" at the moment: tidegate channel sync ACCOUNT.')


def nothing_stored(kept: KnownChannel) -> str:
    """What to do about a channel without a stored message in the range that was asked for."""
    none = f'No message of "{kept.title}" is stored there.'
    if not (kept.enabled and kept.in_full) or kept.by_topic:
        return f"{none} Mirror it with: tidegate channel enable {kept.number} --full"
    if kept.state == "no_history_permission":
        return f"{none} The account may not read its history; grant it Read Message History."
    if kept.state == "moved":
        return f"{none} The group moved to channel {kept.moved_to}, which is mirrored on its own."
    if kept.state == "deleted":
        return f"{none} The channel was deleted on {kept.platform.brand}."
    if kept.state == "unreadable" or not kept.seen_by:
        return f"{none} No account sees it at the moment: tidegate channel sync ACCOUNT."
    return f"{none} A running worker reads it by itself; now: tidegate backfill {kept.number}"


@dataclass(frozen=True, slots=True)
class BackfillRequest:
    """How deep a backfill goes: a number of messages, or all, and not further back than *since*."""

    target: int | None = None
    since: datetime | None = None
    everything: bool = False

    def as_args(self) -> dict[str, Any]:
        """The same as arguments of a command."""
        since = None if self.since is None else self.since.isoformat()
        return {"target": self.target, "since": since, "everything": self.everything}


# Commands to the account's worker


async def ask_cycle(connection: Connection, account: Account, kept: KnownChannel | None = None) -> CommandId:
    """Have an account's cycle made now, over one channel or all."""
    if kept is not None and not kept.enabled:
        raise TidegateError(f'"{kept.title}" is not mirrored; enable it first.')
    return await _ask(connection, account, "cycle", {"channel": None if kept is None else str(kept.number)})


async def ask_sync(connection: Connection, account: Account) -> CommandId:
    """Have an account list what it can see."""
    return await _ask(connection, account, "sync", {})


async def ask_backfill(connection: Connection, kept: KnownChannel, depth: BackfillRequest) -> CommandId:
    """Have a channel's history read now."""
    require_history(kept)
    return await _ask(connection, await reader_of(connection, kept), "backfill", _channel(kept) | depth.as_args())


async def ask_reconcile(connection: Connection, kept: KnownChannel, limit: int | None) -> CommandId:
    """Have the newest stored messages of a channel compared with the platform."""
    require_history(kept)
    return await _ask(connection, await reader_of(connection, kept), "reconcile", {**_channel(kept), "limit": limit})


async def reader_of(connection: Connection, kept: KnownChannel) -> Account:
    """The account that reads a channel."""
    if kept.reader_name is None:
        raise TidegateError(f'No account reads "{kept.title}": tidegate channel sync ACCOUNT.')
    return (await accounts.find(connection, kept.reader_name)).account


def _channel(kept: KnownChannel) -> dict[str, Any]:
    return {"channels": [kept.key]}


async def _ask(connection: Connection, account: Account, kind: str, args: dict[str, Any]) -> CommandId:
    require_active(account, kind)
    return await commands.ask(connection, account.id, kind, args)


# Accounts


async def pause(connection: Connection, name: str) -> None:
    """Make no further call for an account until it is resumed."""
    await _change(connection, name, AccountState.PAUSED, AccountState.ACTIVE)


async def resume(connection: Connection, name: str) -> None:
    """Let an account work again, after a pause or a ban that is over."""
    await _change(connection, name, AccountState.ACTIVE, AccountState.PAUSED, AccountState.BANNED)


async def set_standing(connection: Connection, settings: Settings, name: str, standing: Standing) -> str:
    """Change an account's standing, and its pace with it; returns the pace in words."""
    account = (await accounts.find(connection, name)).account
    if account.standing is not standing:
        await accounts.set_standing(connection, account, standing)
    await pace.set_pace(connection, account.id, allowance_of(settings, account.platform, standing))
    await commands.ask(connection, account.id, "look_again", {})
    return settings.pace_in_words(account.platform, standing)


async def rename(connection: Connection, name: str, new: str) -> None:
    """Call an account otherwise. Its channels, reminders, runs and open commands stay as they are."""
    account = (await accounts.find(connection, name)).account
    await accounts.rename(connection, account, new)
    await reminders.name_account(connection, account.id, new)
    await commands.ask(connection, account.id, "look_again", {})


async def _change(connection: Connection, name: str, state: AccountState, *expected: AccountState) -> None:
    """Store the state and have the worker look again; an account that is in that state already stays in it."""
    found = (await accounts.find(connection, name)).account
    changed = await accounts.change_state(connection, found.id, state, expected=expected)
    if not changed and found.state is not state:
        raise TidegateError(found.stands)
    await commands.ask(connection, found.id, "look_again", {})


async def token_end(connection: Connection, written: str | None, here: Here) -> datetime | None:
    """When a token expires: after a span such as ``30d``, or when a day or an instant begins; None is never.

    A bare number is refused, since its unit is unclear.
    """
    if written is None:
        return None
    try:
        span = parse_span(written) if written[-1:].isalpha() else None
    except ValueError:
        span = None
    try:
        if span is None:
            return read_instant("expires", written, here)
        now = await now_of(connection)
        return now + span
    except (BadInput, OverflowError):
        raise BadInput(
            f'A token cannot expire "{written}". Write a span such as 30d, or a date such as 2027-12-31.'
        ) from None
