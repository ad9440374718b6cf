"""Channels: found and sorted among very many, with their last verdict, what is remembered, and their coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.rules.history import START, Content, Coverage
from tidegate.rules.picturing import Picture, picture_of
from tidegate.shapes.channels import ChannelListed, channels_listed
from tidegate.store import channel_list, coverage
from tidegate.store.channel_list import Line, Place, Sort, Wanted
from tidegate.store.channels import Kept
from tidegate.store.database import Connection
from tidegate.web.api.access import AsSet, InDatabase
from tidegate.web.api.asking import Text
from tidegate.web.rendering import page
from tidegate.words import Platform

_ROWS = 50

pages = APIRouter()


class ChannelsAsked(BaseModel):
    """What the page's form asks for; *mirrored* is yes, no, or empty for all."""

    q: Text = ""
    mirrored: Annotated[str, Query(pattern="^(yes|no|)$")] = ""
    sort: Sort = Sort.TITLE
    descending: bool = False
    cursor: Annotated[str, Query(max_length=4_000)] | None = None

    @property
    def wanted(self) -> Wanted:
        enabled = {"yes": True, "no": False}.get(self.mirrored)
        return Wanted(self.q, enabled=enabled, sort=self.sort, descending=self.descending)

    def address(self, **changed: Any) -> str:
        """The same question with something changed, from its first page on unless a cursor is given."""
        asked = {"q": self.q, "mirrored": self.mirrored, "sort": self.sort.value, "descending": self.descending}
        given = {name: value for name, value in {**asked, **changed}.items() if value}
        return f"/channels?{urlencode(given)}"

    def sorted_by(self, sort: Sort) -> str:
        """The same sorted by something else; by what it is sorted by already, the other way round."""
        return self.address(sort=sort.value, descending=sort is self.sort and not self.descending)


@dataclass(frozen=True, slots=True)
class ChannelView:
    """A channel as a row of the page."""

    key: int
    row: ChannelListed
    picture: Picture | None


@pages.get("/channels")
async def show(
    request: Request, database: InDatabase, loaded: AsSet, asked: Annotated[ChannelsAsked, Query()]
) -> Response:
    """One page of the channels that were asked for."""
    after = None if asked.cursor is None else Place.parse(asked.cursor)
    async with database.connection() as connection:
        found = await channel_list.page(connection, asked.wanted, after=after, most=_ROWS)
        rows = await channels_listed(connection, found.lines, loaded.settings)
        pictures = await _pictures(connection, found.lines)
    views = [
        ChannelView(line.kept.key, row, pictures.get(line.kept.key))
        for line, row in zip(found.lines, rows, strict=True)
    ]
    return page(
        request, "channels.html", channels=views, asked=asked, sorts=list(Sort),
        next=None if found.next is None else asked.address(cursor=str(found.next)),
    )  # fmt: skip


async def _pictures(connection: Connection, lines: list[Line]) -> dict[int, Picture]:
    """The coverage of those that have been mirrored, in one question for all of them."""
    known = await coverage.load_many(connection, [line.kept.key for line in lines])
    found = {
        line.kept.key: drawn(line.kept, known.get(line.kept.key, {}), line.whole["newest_seen"])
        for line in lines
        if line.whole is not None
    }
    return {key: picture for key, picture in found.items() if picture is not None}


def drawn(kept: Kept, covered: dict[Content, Coverage], head: int) -> Picture | None:
    """A channel's coverage of what it is mirrored for: all messages, or the documents alone.

    Before anything is known there is none, nor for a board, whose threads hold the messages.
    """
    if head <= START or kept.kind == "board":
        return None
    kind = Content.MESSAGES if kept.in_full else Content.DOCUMENTS
    first = kept.number if kept.platform is Platform.DISCORD else START  # Discord numbers begin with the channel's own
    return picture_of(covered.get(kind, Coverage()), first=min(first, head), head=head)
