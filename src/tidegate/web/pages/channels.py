"""The channels page: a filtered and sorted list with last check, verdict and coverage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.app.policies import policy_of
from tidegate.channels.queries import channel_list
from tidegate.channels.queries.channel_list import ChannelFilter, ChannelOrder, ChannelWithMemory, ListPosition
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection
from tidegate.history.channel_documents import ChannelListed, channels_listed
from tidegate.history.queries import coverage, partial_share
from tidegate.history.rules.coverage import START, Content, Coverage
from tidegate.history.rules.coverage_bar import CoverageBar, picture_of
from tidegate.web.api.parameters import Text
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import page
from tidegate.web.server.request_bodies import Router
from tidegate.web.server.streamed_responses import in_thread

_ROWS = 50

pages = Router()


class ChannelsPageQuery(BaseModel):
    """The filter of the page; *mirrored* is yes, no, or empty for all."""

    q: Text = ""
    mirrored: Annotated[str, Query(pattern="^(yes|no|)$")] = ""
    sort: ChannelOrder = ChannelOrder.TITLE
    descending: bool = False
    cursor: Annotated[str, Query(max_length=4_000)] | None = None

    @property
    def wanted(self) -> ChannelFilter:
        enabled = {"yes": True, "no": False}.get(self.mirrored)
        return ChannelFilter(self.q, enabled=enabled, sort=self.sort, descending=self.descending)

    def address(self, **changed: Any) -> str:
        """The address with a changed filter; it starts at the first page unless a cursor is given."""
        asked = {"q": self.q, "mirrored": self.mirrored, "sort": self.sort.value, "descending": self.descending}
        given = {name: value for name, value in {**asked, **changed}.items() if value}
        return f"/channels?{urlencode(given)}"

    def sorted_by(self, sort: ChannelOrder) -> str:
        """The address sorted by a column; the current column reverses its order."""
        return self.address(sort=sort.value, descending=sort is self.sort and not self.descending)


@dataclass(frozen=True, slots=True)
class ChannelView:
    """A channel as a row of the page."""

    key: ChannelKey
    row: ChannelListed
    picture: CoverageBar | None


@pages.get("/channels")
async def show(
    request: Request, database: InDatabase, loaded: AsSet, asked: Annotated[ChannelsPageQuery, Query()]
) -> Response:
    """One page of matching channels."""
    after = None if asked.cursor is None else ListPosition.parse(asked.cursor)
    async with database.connection() as connection:
        found = await channel_list.page(connection, asked.wanted, after=after, most=_ROWS)
        policy = policy_of(loaded.settings)
        rows = await channels_listed(connection, found.lines, policy.scans, policy.retries)
        pictures = await _pictures(connection, found.lines)
    views = [
        ChannelView(line.kept.key, row, pictures.get(line.kept.key))
        for line, row in zip(found.lines, rows, strict=True)
    ]
    return page(
        request, "channels.html", channels=views, asked=asked, sorts=list(ChannelOrder),
        next=None if found.next is None else asked.address(cursor=str(found.next)),
    )  # fmt: skip


async def _pictures(connection: Connection, lines: list[ChannelWithMemory]) -> dict[ChannelKey, CoverageBar]:
    """The coverage of the mirrored channels, in one query."""
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
