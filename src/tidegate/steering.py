"""What people ask for, whether at the terminal, over the API or on a page: checked, stored, or left for the owner.

Each is one transaction of the caller's, and refuses with the sentence that whoever asked gets to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidegate.errors import BadInput, TidegateError
from tidegate.mirroring import require_active
from tidegate.store import accounts, channels, commands, filing
from tidegate.store.channels import Kept, Wishes
from tidegate.store.database import Connection
from tidegate.words import Account, AccountState, CommandId


@dataclass(frozen=True, slots=True)
class Mirroring:
    """How a channel is to be mirrored; *destination* is another one's number or title."""

    topics: Sequence[int] = ()
    full: bool = False
    hashed: bool = False
    destination: str | None = None


async def enable(connection: Connection, kept: Kept, wanted: Mirroring) -> str:
    """Mirror a channel from the next cycle on; returns what the operator should hear about it, if anything."""
    unchecked = await _check_topics(connection, kept, wanted.topics) if wanted.topics else ""
    target = None if wanted.destination is None else (await channels.find(connection, wanted.destination)).key
    if target == kept.key:
        raise BadInput("A channel cannot be its own destination; name another one.")
    if target is not None and await filing.goes_round(connection, kept.key, target):
        raise BadInput("Its archives would be filed on from there until they are back; name another destination.")
    await channels.enable(connection, kept, Wishes(tuple(wanted.topics), wanted.full, wanted.hashed, target))
    unseen = "" if kept.seen_by else "No account sees it at the moment: tidegate channel sync ACCOUNT."
    return " ".join(one for one in (unchecked, unseen) if one)


async def _check_topics(connection: Connection, kept: Kept, topics: Sequence[int]) -> str:
    """Refuse topics that cannot be there; a sentence where nobody knows yet, since this asks no platform."""
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


def require_history(kept: Kept) -> None:
    """Refuse a channel of which there is no history to read."""
    if not (kept.enabled and kept.in_full) or kept.by_topic:
        raise BadInput(
            f'"{kept.title}" is not mirrored in full. Do that with: tidegate channel enable {kept.number} --full'
        )
    if kept.reader is None:
        raise BadInput(f'No account sees "{kept.title}" at the moment: tidegate channel sync ACCOUNT.')


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep a backfill goes: so many messages, or all, and not further back than *since*."""

    target: int | None = None
    since: datetime | None = None
    everything: bool = False

    def as_args(self) -> dict[str, Any]:
        """The same as a worker takes it."""
        since = None if self.since is None else self.since.isoformat()
        return {"target": self.target, "since": since, "everything": self.everything}


# Left for the owner


async def ask_cycle(connection: Connection, account: Account, kept: Kept | None = None) -> CommandId:
    """Have an account's cycle made now, over one channel or all."""
    if kept is not None and not kept.enabled:
        raise TidegateError(f'"{kept.title}" is not mirrored; enable it first.')
    return await _ask(connection, account, "cycle", {"channel": None if kept is None else str(kept.number)})


async def ask_sync(connection: Connection, account: Account) -> CommandId:
    """Have an account list what it can see."""
    return await _ask(connection, account, "sync", {})


async def ask_backfill(connection: Connection, kept: Kept, depth: Depth) -> CommandId:
    """Have a channel's history read now."""
    require_history(kept)
    return await _ask(connection, await reader_of(connection, kept), "backfill", _channel(kept) | depth.as_args())


async def ask_reconcile(connection: Connection, kept: Kept, limit: int | None) -> CommandId:
    """Have the newest stored messages of a channel compared with the platform."""
    require_history(kept)
    return await _ask(connection, await reader_of(connection, kept), "reconcile", {**_channel(kept), "limit": limit})


async def reader_of(connection: Connection, kept: Kept) -> Account:
    """The account that reads a channel."""
    if kept.reader_name is None:
        raise TidegateError(f'No account reads "{kept.title}": tidegate channel sync ACCOUNT.')
    return (await accounts.find(connection, kept.reader_name)).account


def _channel(kept: Kept) -> dict[str, Any]:
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


async def _change(connection: Connection, name: str, state: AccountState, *expected: AccountState) -> None:
    """Store the state and have the owner look again; one that is in that state already stays in it."""
    found = (await accounts.find(connection, name)).account
    changed = await accounts.change_state(connection, found.id, state, expected=expected)
    if not changed and found.state is not state:
        raise TidegateError(found.stands)
    await commands.ask(connection, found.id, "look_again", {})
