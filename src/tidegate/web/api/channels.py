"""Channels over the API: listed, shown, enabled and disabled, and read now."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import AwareDatetime, BaseModel, Field

from tidegate import steering
from tidegate.shapes.channels import (
    ChannelListed,
    ChannelRow,
    ChannelShown,
    TopicRow,
    channel_row,
    channel_shown,
    channels_listed,
    topic_row,
)
from tidegate.shapes.commands import CommandRow
from tidegate.steering import Depth, Mirroring
from tidegate.store import accounts, channel_list
from tidegate.store import channels as kept_channels
from tidegate.store.channel_list import Place, Sort, Wanted
from tidegate.web.api.access import AsSet, InDatabase, Reader, Steerer, channel_for
from tidegate.web.api.asking import BIGGEST, ChannelNamed, Limit, Number, Text, answer, refusals
from tidegate.web.api.commands import accepted

channels = APIRouter(prefix="/channels", tags=["channels"])


class ChannelsAsked(BaseModel):
    """Which channels, how sorted, and from where on. *q* is a number, or what a title has anywhere in it."""

    q: Text = ""
    account: Text | None = Field(None, description="Only those that this account sees.")
    enabled: bool | None = None
    sort: Sort = Sort.TITLE
    descending: bool = False
    cursor: Annotated[str, Field(max_length=4_000, description="The next of the page before.")] | None = None
    limit: Limit = 100


@dataclass(frozen=True, slots=True)
class ChannelsPage:
    """Channels; *next* is the cursor of the page that follows, and null on the last one."""

    channels: list[ChannelListed]
    next: str | None


class TopicsAsked(BaseModel):
    """Topics beyond a number."""

    after: int = Field(0, ge=0, le=BIGGEST)
    limit: Limit = 100


@dataclass(frozen=True, slots=True)
class TopicsPage:
    """Topics in the order of their numbers; *next* is what to ask *after*, and null on the last page."""

    topics: list[TopicRow]
    next: int | None


class EnableWanted(BaseModel):
    """How to mirror a channel: some topics on their own, every message, content hashes, a place to file archives to."""

    topics: Annotated[list[Number], Field(max_length=10_000)] = []
    full: bool = False
    hash: bool = False
    destination: Text | None = None

    def told(self) -> Mirroring:
        return Mirroring(self.topics, full=self.full, hashed=self.hash, destination=self.destination)


@dataclass(frozen=True, slots=True)
class Enabled:
    """A channel as it is mirrored from now on, and what the operator should hear about it."""

    channel: ChannelRow
    remark: str


class BackfillWanted(BaseModel):
    """How deep: so many messages, all of them, or not further back than an instant. Nothing said: as deep as usual."""

    target: Number | None = None
    since: AwareDatetime | None = None
    everything: bool = False


class ReconcileWanted(BaseModel):
    """How many of the newest messages are compared; null is the setting message_sync_limit."""

    limit: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


@channels.get("", response_model=ChannelsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(
    database: InDatabase, reader: Reader, loaded: AsSet, asked: Annotated[ChannelsAsked, Query()]
) -> Response:
    """Channels page by page, with their memory, their last verdict and when they are looked at next."""
    after = None if asked.cursor is None else Place.parse(asked.cursor)
    async with database.connection() as connection:
        account = None if asked.account is None else (await accounts.find(connection, asked.account)).account.id
        wanted = Wanted(asked.q, account, asked.enabled, reader.channels, asked.sort, asked.descending)
        page = await channel_list.page(connection, wanted, after=after, most=asked.limit)
        rows = await channels_listed(connection, page.lines, loaded.settings)
    return answer(ChannelsPage(rows, None if page.next is None else str(page.next)))


@channels.get("/{channel}", response_model=ChannelShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, reader: Reader, loaded: AsSet, channel: ChannelNamed) -> Response:
    """One channel: what ``tidegate channel show --json`` prints."""
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        return answer(await channel_shown(connection, kept, loaded.settings))


@channels.get("/{channel}/topics", response_model=TopicsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def topics(
    database: InDatabase, reader: Reader, channel: ChannelNamed, asked: Annotated[TopicsAsked, Query()]
) -> Response:
    """The topics of a forum."""
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        rows = await channel_list.topics(connection, kept.key, after=asked.after, most=asked.limit + 1)
    found = [topic_row(row) for row in rows[: asked.limit]]
    return answer(TopicsPage(found, found[-1].topic if len(rows) > asked.limit else None))


@channels.post("/{channel}/enable", response_model=Enabled, responses=refusals(HTTPStatus.NOT_FOUND))
async def enable(
    database: InDatabase, steerer: Steerer, channel: ChannelNamed, wanted: EnableWanted | None = None
) -> Response:
    """Mirror a channel from the next cycle on."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        told = wanted.told() if wanted else Mirroring()
        remark = await steering.enable(connection, kept, told)
        found = (await kept_channels.of_keys(connection, [kept.key]))[kept.key]
    return answer(Enabled(channel_row(found), remark))


@channels.post("/{channel}/disable", response_model=ChannelRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def disable(database: InDatabase, steerer: Steerer, channel: ChannelNamed) -> Response:
    """Mirror a channel no more; what is stored stays. One that is not mirrored stays as it is."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        await kept_channels.disable(connection, kept)
        found = (await kept_channels.of_keys(connection, [kept.key]))[kept.key]
    return answer(channel_row(found))


_LEFT = refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


@channels.post("/{channel}/cycle", response_model=CommandRow, status_code=HTTPStatus.ACCEPTED, responses=_LEFT)
async def cycle(database: InDatabase, steerer: Steerer, channel: ChannelNamed) -> Response:
    """Have a channel looked at now, whatever its memory says."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        reader = await steering.reader_of(connection, kept)
        return await accepted(connection, await steering.ask_cycle(connection, reader, kept))


@channels.post("/{channel}/backfill", response_model=CommandRow, status_code=HTTPStatus.ACCEPTED, responses=_LEFT)
async def backfill(
    database: InDatabase, steerer: Steerer, channel: ChannelNamed, wanted: BackfillWanted | None = None
) -> Response:
    """Have the history of a channel that is mirrored in full read now."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        depth = Depth(wanted.target, wanted.since, wanted.everything) if wanted else Depth()
        return await accepted(connection, await steering.ask_backfill(connection, kept, depth))


@channels.post("/{channel}/reconcile", response_model=CommandRow, status_code=HTTPStatus.ACCEPTED, responses=_LEFT)
async def reconcile(
    database: InDatabase, steerer: Steerer, channel: ChannelNamed, wanted: ReconcileWanted | None = None
) -> Response:
    """Have the newest stored messages compared with the platform: edits applied, deletions marked."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        return await accepted(
            connection, await steering.ask_reconcile(connection, kept, wanted.limit if wanted else None)
        )
