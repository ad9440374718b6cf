"""The archived threads of Discord channels: listed from the last archived one down to those known (seed 001)."""

from __future__ import annotations

from tidegate.accounts.queries import accounts
from tidegate.channels.queries import guilds
from tidegate.channels.queries.guilds import ThreadParent
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, PlatformError, Refused
from tidegate.core.ids import ChannelId
from tidegate.history.backfill import lose_channel
from tidegate.history.history_pages import load, look_at_newest
from tidegate.platforms.interface import CannotAsk, ChannelKind, Cursor
from tidegate.scans.scan_context import ScanContext


async def list_archived(
    context: ScanContext, parent: ThreadParent, troubles: list[str], *, private: bool = False
) -> set[ChannelId]:
    """List a channel's archived threads, the last archived first, down to those known; returns their numbers.

    With *private* also the private ones. Where the account may not list them, the channel records that and the rest
    continues.
    """
    found: set[ChannelId] = set()
    remark: str | None = None
    try:
        if not (private and parent.listed):
            found |= await _list(context, parent, private=False)
    except ENDS_CYCLE:
        raise
    except (ChannelGone, Refused) as problem:
        troubles.append(f"{parent.title}: {problem}")
        if not await _may_read(context, parent):
            return found
        remark = str(problem)
    except PlatformError as problem:
        troubles.append(f"{parent.title}: {problem}")
        return found
    try:
        if private:
            found |= await _list(context, parent, private=True)
    except ENDS_CYCLE:
        raise
    except CannotAsk:
        remark = None
    except Refused as problem:
        remark = str(problem)
    except PlatformError as problem:
        troubles.append(f"{parent.title}: {problem}")
        return found
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        await guilds.note_listed(connection, parent.key, private=private, remark=remark)
    return found


async def _may_read(context: ScanContext, parent: ThreadParent) -> bool:
    """Whether a channel that refuses the list of its threads can still be read.

    Its newest page distinguishes a missing permission from a lost channel. The result is stored as the channel's state.
    """
    history = None if parent.kind is ChannelKind.BOARD else await load(context, parent.key)
    if history is None:
        return True
    try:
        await look_at_newest(context, parent.key)
    except ENDS_CYCLE:
        raise
    except ChannelGone as gone:
        await lose_channel(context, history.place, gone)
        return False
    except PlatformError:
        return False
    return True


async def _list(context: ScanContext, parent: ThreadParent, *, private: bool) -> set[ChannelId]:
    found: set[ChannelId] = set()
    cursor: Cursor | None = None
    while True:
        page = await context.lane.archived_threads(parent.number, private=private, after=cursor, cycle=context.cycle)
        async with context.database.transaction() as connection:
            await accounts.fence(connection, context.lane.claim())
            known = (
                parent.listed
                and not private
                and await guilds.are_known(connection, context.lane.account.platform, page.heads)
            )
            await guilds.see(connection, context.lane.account.platform, context.lane.account.id, page.heads)
        found |= page.heads.keys()
        if page.next is None or known:
            return found
        cursor = page.next
