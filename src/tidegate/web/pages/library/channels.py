"""The channels page: a filtered and sorted list with last check, its result, and the stored history."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.accounts.queries import accounts
from tidegate.app.doctor.status_report import problem_limits
from tidegate.app.policies import policy_of
from tidegate.channels.queries import channel_list, mirror_states
from tidegate.channels.queries.channel_list import ChannelFilter, ChannelOrder, ChannelWithMemory, ListPosition
from tidegate.channels.queries.channels import KnownChannel
from tidegate.channels.rules.mirror_state import MirrorState
from tidegate.core.account import Account
from tidegate.core.ids import AccountId, ChannelKey
from tidegate.core.rules.natural_order import natural_key
from tidegate.database.pool import Connection
from tidegate.history.channel_documents import ChannelListed, channels_listed
from tidegate.history.queries import coverage, partial_share
from tidegate.history.rules.coverage import START, Content, Coverage
from tidegate.history.rules.coverage_bar import CoverageBar, picture_of
from tidegate.web.api.parameters import Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import page
from tidegate.web.pages.library.channel_head import first_tab
from tidegate.web.rules.channel_labels import UPKEEP_CHOICES
from tidegate.web.server.streamed_responses import in_thread

_ROWS = 50
_COUNTED = 1_000
_ORDERS = {
    ChannelOrder.TITLE: "Name",
    ChannelOrder.READER: "Account",
    ChannelOrder.SCANNED: "Last checked",
}

pages = GuardedRouter()


class ChannelsFilter(BaseModel):
    """The filter of the page; *mirrored* is yes, no, or empty for all, *account* is the name of the one that reads."""

    q: Text = ""
    mirrored: Literal["", "yes", "no"] = ""
    platform: Annotated[str, Query(max_length=40, pattern="^[a-z]*$")] = ""
    account: Text = ""
    state: MirrorState | Annotated[str, Query(pattern="^$")] = ""
    sort: ChannelOrder = ChannelOrder.TITLE
    descending: bool = False

    @property
    def narrows(self) -> bool:
        """Whether it leaves any channel out."""
        return bool(self.q.strip() or self.mirrored or self.platform or self.account or self.state)

    async def wanted(self, connection: Connection, behind: Collection[AccountId]) -> ChannelFilter:
        """The filter for the query; *behind* are the accounts whose checks are late."""
        enabled = {"yes": True, "no": False}.get(self.mirrored)
        reader = (await accounts.find(connection, self.account)).account.id if self.account else None
        return ChannelFilter(
            self.q,
            reader=reader,
            platform=self.platform or None,
            enabled=enabled,
            mirror_state=MirrorState(self.state) if self.state else None,
            behind=behind,
            sort=self.sort,
            descending=self.descending,
        )

    def given(self) -> dict[str, str]:
        """What was asked for, without what was left as it is."""
        asked = self.model_dump(mode="json", exclude_defaults=True, exclude={"cursor"})
        return {name: str(value).lower() if value is True else str(value) for name, value in asked.items()}

    def address(self, **changed: Any) -> str:
        """The address with a changed filter; it starts at the first page unless a cursor is given."""
        given = {name: value for name, value in {**self.given(), **changed}.items() if value}
        return f"/channels?{urlencode(given)}" if given else "/channels"

    def sorted_by(self, sort: ChannelOrder) -> str:
        """The address sorted by a column; the current column reverses its order."""
        return self.address(sort=sort.value, descending="true" if sort is self.sort and not self.descending else "")


class ChannelsPageQuery(ChannelsFilter):
    """A filter, and where the page begins."""

    cursor: Annotated[str, Query(max_length=4_000)] | None = None


@dataclass(frozen=True, slots=True)
class ChannelView:
    """A channel as a row of the page; *path* opens it."""

    key: ChannelKey
    path: str
    can_be_mirrored: bool
    row: ChannelListed
    picture: CoverageBar | None
    behind: bool


@pages.get("/channels")
async def show(
    request: Request, database: InDatabase, loaded: AsSet, asked: Annotated[ChannelsPageQuery, Query()]
) -> Response:
    """One page of matching channels."""
    after = None if asked.cursor is None else ListPosition.parse(asked.cursor)
    async with database.connection() as connection:
        behind = await mirror_states.accounts_behind(connection, problem_limits(loaded.settings).checked_within)
        wanted = await asked.wanted(connection, behind)
        found = await channel_list.page(connection, wanted, after=after, most=_ROWS)
        policy = policy_of(loaded.settings)
        rows = await channels_listed(connection, found.lines, policy.scans, policy.retries)
        pictures = await pictures_of(connection, found.lines)
        ones = [one.account for one in await accounts.listing(connection)]
        count = len(found.lines)
        if after is not None or found.next is not None:
            count = await channel_list.count(connection, wanted, most=_COUNTED)
    return page(
        request, "channels.html", channels=channel_views(found.lines, rows, pictures, behind), asked=asked,
        orders=_ORDERS, states=UPKEEP_CHOICES,
        count=count, counted=_COUNTED, next=None if found.next is None else asked.address(cursor=str(found.next)),
        accounts=sorted((one.name for one in ones if one.platform.can_be_mirrored), key=natural_key),
        platforms=_platforms(ones),
    )  # fmt: skip


def _platforms(known: list[Account]) -> list[str]:
    return sorted({one.platform.name for one in known})


def channel_views(
    lines: list[ChannelWithMemory],
    rows: list[ChannelListed],
    pictures: dict[ChannelKey, CoverageBar],
    behind: Collection[AccountId] = (),
) -> list[ChannelView]:
    """Channels as rows of a page; the accounts *behind* have not checked them for too long."""
    return [
        ChannelView(
            line.kept.key,
            first_tab(line.kept),
            line.kept.platform.can_be_mirrored,
            row,
            pictures.get(line.kept.key),
            line.kept.enabled and line.kept.reader in behind,
        )
        for line, row in zip(lines, rows, strict=True)
    ]


async def pictures_of(connection: Connection, lines: list[ChannelWithMemory]) -> dict[ChannelKey, CoverageBar]:
    """The stored history of the mirrored channels, in one query."""
    keys = [line.kept.key for line in lines]
    known = await coverage.load_many(connection, keys)
    partial = await partial_share.channels_with(connection, keys)
    drawn_bars = await in_thread(lambda: _all_drawn(lines, known))
    return {key: replace(bar, partial=key in partial) for key, bar in drawn_bars.items()}


def _all_drawn(
    lines: list[ChannelWithMemory], known: dict[ChannelKey, dict[Content, Coverage]]
) -> dict[ChannelKey, CoverageBar]:
    found = {
        line.kept.key: drawn(line.kept, known.get(line.kept.key, {}), line.memory["newest_seen"])
        for line in lines
        if line.memory is not None
    }
    return {key: picture for key, picture in found.items() if picture is not None}


def drawn(kept: KnownChannel, covered: dict[Content, Coverage], head: int) -> CoverageBar | None:
    """A channel's coverage of what it is mirrored for: all messages, or the documents alone.

    Before anything is known there is none, nor for a board, whose threads hold the messages.
    """
    if head <= START or kept.kind == "board":
        return None
    kind = Content.MESSAGES if kept.in_full else Content.DOCUMENTS
    first = kept.number if kept.platform.ids_begin_with_channel else START
    return picture_of(covered.get(kind, Coverage()), first=min(first, head), head=head)
