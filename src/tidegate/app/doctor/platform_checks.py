"""Harmless reads through an account's lane, compared with what Tidegate assumes about its platform.

The loopback platforms are built on the same assumptions. Where a real platform differs, its owner can report which.
Nothing is ever sent, and no file is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from tidegate.app.doctor.check import Check, failure, passed, warning
from tidegate.core.errors import NotOurs, PlatformError
from tidegate.core.ids import ChannelId
from tidegate.lanes import Lane
from tidegate.platforms.interface import Channel, ChannelKind, Head, HistoryPage, TooLong
from tidegate.workers.account_service import AccountService

PROBE = "probe"
"""The command that has the account's worker do this."""

ASKED = 3
"""How many channels the gate is asked about."""

_PAGE = "docs/loopback.md"


@dataclass(slots=True)
class _Seen:
    """What the answers so far brought: heads of channels, the channel that is read, and the newest page of it."""

    heads: Mapping[ChannelId, Head]
    channel: ChannelId | None = None
    page: HistoryPage | None = None


class _Differs(Exception):
    """An answer is not as assumed; the text says what came instead."""


class _Lacks(Exception):
    """The platform has no such call."""


class _Unknown(Exception):
    """Nothing to compare: the account has no such channel."""


async def probe(serving: AccountService, _: dict[str, Any]) -> list[dict[str, Any]]:
    """Check every assumption, for the worker's command loop."""
    lane = await serving.connected()
    found = [asdict(one) for one in await platform_checks(lane)]
    await lane.write_ledger()
    return found


async def platform_checks(lane: Lane) -> list[Check]:
    """Check every assumption in turn; one that fails does not keep the others from being checked.

    What the platform has no call for is left out.
    """
    seen = _Seen({})
    found = [await _checked(name, check, lane, seen) for name, check in ASSUMPTIONS.items()]
    return [one for one in found if one is not None]


async def _checked(name: str, check: Callable[[Lane, _Seen], Awaitable[str]], lane: Lane, seen: _Seen) -> Check | None:
    docs = f"{_PAGE}#{name}"
    try:
        return passed(name, await check(lane, seen), docs)
    except _Lacks:
        return None
    except _Unknown as why:
        return warning(name, f"Not checked: {why}", docs)
    except _Differs as what:
        return failure(name, f"{lane.account.platform.brand} differs: {what}", docs)
    except NotOurs:
        raise
    except PlatformError as problem:
        return failure(name, f"The call failed: {problem}", docs)


async def _same_identity(lane: Lane, _: _Seen) -> str:
    if lane.has_guilds:
        raise _Lacks  # a bot says who it is when it connects, and is refused then if it is another
    me = await lane.me()
    if lane.account.identity not in (None, me.id):
        raise _Differs("the account is another one than the one that signed in.")
    return "The account is the one that signed in."


async def _lists_channels(lane: Lane, seen: _Seen) -> str:
    seen.heads = await lane.survey() if lane.has_guilds else (await lane.channels()).heads
    if not seen.heads:
        raise _Unknown("the account sees no channel.")
    if any(number <= 0 for number in seen.heads):
        raise _Differs("a channel has a number below 1.")
    if any(head.channel is None for head in seen.heads.values()):
        raise _Differs("a channel comes without a description.")
    return f"{len(seen.heads)} channels were listed."


async def _heads_name_the_newest(lane: Lane, seen: _Seen) -> str:
    if not lane.account.platform.can_be_mirrored:
        raise _Lacks
    asked = _with_messages(seen)[:ASKED]
    if not asked:
        raise _Unknown("no channel with messages was listed.")
    heads = seen.heads if lane.has_guilds else await lane.heads(asked)
    missing = [number for number in asked if number not in heads]
    if missing:
        raise _Differs(f"{len(missing)} of {len(asked)} channels are missing from the answer.")
    seen.heads = {**seen.heads, **heads}
    seen.channel = asked[0]
    return f"{len(asked)} channels came with their newest message, in one answer."


async def _newest_first(lane: Lane, seen: _Seen) -> str:
    channel = _channel(lane, seen)
    seen.page = page = await lane.page(channel, before=None)
    if not page.may_read:
        raise _Unknown("the account may not read the history of that channel.")
    _require_falling(page)
    if len(page.messages) > page.limit:
        raise _Differs(f"{len(page.messages)} messages came where {page.limit} were asked for.")
    newest, head = page.messages[0].id if page.messages else 0, seen.heads[channel].newest or 0
    if newest < head and not lane.has_guilds:
        raise _Differs(f"the newest message is {newest}, and the head said {head}.")
    return f"{len(page.messages)} messages came, the newest first."


async def _pages_continue_below(lane: Lane, seen: _Seen) -> str:
    channel, page = _channel(lane, seen), _page(seen)
    if page.reached_start:
        raise _Unknown("the channel has no older messages.")
    oldest = page.messages[-1].id
    older = await lane.page(channel, before=oldest)
    _require_falling(older)
    if older.messages and older.messages[0].id >= oldest:
        raise _Differs("the next page repeats messages of the one before.")
    if not older.messages and not older.reached_start:
        raise _Differs("an empty page does not say that nothing is older.")
    return f"{len(older.messages)} older messages came, all below the page before."


async def _times_follow_numbers(lane: Lane, seen: _Seen) -> str:
    _channel(lane, seen)
    messages = _page(seen).messages
    if any(newer.at < older.at for newer, older in pairwise(messages)):
        raise _Differs("a message with a higher number is older than one with a lower number.")
    return "Messages with higher numbers are not older."


async def _search_finds_documents(lane: Lane, seen: _Seen) -> str:
    if not lane.searches_files:
        raise _Lacks
    page = await lane.files(_channel(lane, seen))
    if any(not message.files for message in page.messages):
        raise _Differs("a search for documents found a message without a file.")
    return f"{len(page.messages)} messages with documents were found."


async def _nothing_since_now(lane: Lane, seen: _Seen) -> str:
    channel = _channel(lane, seen)
    since = seen.heads[channel].changes
    if since is None:
        raise _Lacks
    difference = await lane.difference(channel, since=since)
    if isinstance(difference, TooLong):
        raise _Differs("the difference since a moment ago is too long to list.")
    return "The difference since the head's own counter could be listed."


ASSUMPTIONS: Mapping[str, Callable[[Lane, _Seen], Awaitable[str]]] = {
    "same-identity": _same_identity,
    "lists-channels": _lists_channels,
    "heads-name-the-newest": _heads_name_the_newest,
    "newest-first": _newest_first,
    "pages-continue-below": _pages_continue_below,
    "times-follow-numbers": _times_follow_numbers,
    "search-finds-documents": _search_finds_documents,
    "nothing-since-now": _nothing_since_now,
}
"""What is assumed, by the names of the sections that explain it; later ones use the answers of earlier ones."""


def _with_messages(seen: _Seen) -> list[ChannelId]:
    """Channels that can be read, those with the highest numbers of messages first. Private chats are not looked at."""
    found = {number: head.newest for number, head in seen.heads.items() if head.newest and _can_be_read(head.channel)}
    return sorted(found, key=found.__getitem__, reverse=True)


def _can_be_read(channel: Channel | None) -> bool:
    if channel is None or channel.is_private_chat:
        return False
    return channel.readable and channel.kind is not ChannelKind.BOARD


def _channel(lane: Lane, seen: _Seen) -> ChannelId:
    if not lane.account.platform.can_be_mirrored:
        raise _Lacks
    if seen.channel is None:
        raise _Unknown("no channel with messages was listed.")
    return seen.channel


def _page(seen: _Seen) -> HistoryPage:
    if seen.page is None or not seen.page.messages:
        raise _Unknown("no message could be read.")
    return seen.page


def _require_falling(page: HistoryPage) -> None:
    if any(newer.id <= older.id for newer, older in pairwise(page.messages)):
        raise _Differs("messages of a page are not in falling order.")
