"""Channels over the API: list, details, mirroring options, and requests to read them now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from pydantic import AwareDatetime, BaseModel, Field

from tidegate.access.queries.tokens import Token
from tidegate.app import operator_requests
from tidegate.app.operator_requests import BackfillRequest, MirrorRequest
from tidegate.app.policies import policy_of
from tidegate.channels.queries import channel_list
from tidegate.channels.queries import channels as kept_channels
from tidegate.channels.queries.channel_list import ChannelFilter, ChannelOrder, ListPosition
from tidegate.channels.queries.channels import NO_TOPIC, KnownChannel
from tidegate.core.ids import CommandId, TopicId
from tidegate.database.pool import Connection, Database
from tidegate.history.channel_documents import (
    ChannelListed,
    ChannelRow,
    ChannelShown,
    TopicRow,
    channel_row,
    channel_shown,
    channels_listed,
    topic_row,
)
from tidegate.web.api.commands import QUEUES_COMMAND, accepted
from tidegate.web.api.parameters import BIGGEST, LONG_LIST, POSITIVE, ChannelNamed, Limit, Number, Text
from tidegate.web.api.responses import answer, refusals
from tidegate.web.auth.token_check import AsSet, InDatabase, Reader, Steerer, account_for, as_seen_by, channel_for
from tidegate.web.server.request_bodies import ApiRouter
from tidegate.web.server.streamed_responses import members

channels = ApiRouter("/channels", tags=["channels"])

_TOPICS = 500
_SPANS = 1_000


class ChannelsQuery(BaseModel):
    """Which channels, their order, and the cursor. *q* is a number, or a part of the title."""

    q: Text = ""
    account: Text | None = Field(None, description="Only those that this account sees.")
    enabled: bool | None = None
    sort: ChannelOrder = ChannelOrder.TITLE
    descending: bool = False
    cursor: Annotated[str, Field(max_length=4_000, description="The next of the page before.")] | None = None
    limit: Limit = 100


@dataclass(frozen=True, slots=True)
class ChannelsPage:
    """Channels; *next* is the cursor of the page that follows, and null on the last one."""

    channels: list[ChannelListed]
    next: str | None


class TopicsQuery(BaseModel):
    """Topics beyond a number."""

    after: TopicId = Field(NO_TOPIC, ge=0, le=BIGGEST)
    limit: Limit = 100


TopicsAsked = Annotated[TopicsQuery, Query()]


@dataclass(frozen=True, slots=True)
class TopicsPage:
    """Topics in the order of their numbers; *next* is what to ask *after*, and null on the last page."""

    topics: list[TopicRow]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class ChannelShownPage(ChannelShown):
    """A channel with the first of its topics; *next* is what to ask its topics *after* for more, or null."""

    next: int | None


class EnableWanted(BaseModel):
    """How to mirror a channel: selected topics, all messages, content hashes, a destination for archives."""

    topics: Annotated[list[Annotated[TopicId, POSITIVE]], LONG_LIST] = []
    full: bool = False
    hash: bool = False
    destination: Text | None = None

    def request(self) -> MirrorRequest:
        return MirrorRequest(self.topics, full=self.full, hashed=self.hash, destination=self.destination)


@dataclass(frozen=True, slots=True)
class Enabled:
    """A channel with its new options, and a remark for the operator."""

    channel: ChannelRow
    remark: str


class BackfillWanted(BaseModel):
    """A number of messages, all of them, or back to an instant. The default is the depth of the settings."""

    target: Number | None = None
    since: AwareDatetime | None = None
    everything: bool = False


class ReconcileWanted(BaseModel):
    """How many of the newest messages are compared; null is the setting message_sync_limit."""

    limit: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


@channels.get("", response_model=ChannelsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(
    database: InDatabase, reader: Reader, loaded: AsSet, asked: Annotated[ChannelsQuery, Query()]
) -> Response:
    """Channels page by page: last scan, last verdict and next check."""
    after = None if asked.cursor is None else ListPosition.parse(asked.cursor)
    async with database.connection() as connection:
        account = None if asked.account is None else await account_for(connection, reader, asked.account)
        wanted = ChannelFilter(
            asked.q,
            account,
            enabled=asked.enabled,
            only=reader.channels,
            private=reader.channels is not None,
            sort=asked.sort,
            descending=asked.descending,
        )
        page = await channel_list.page(connection, wanted, after=after, most=asked.limit)
        seen = await as_seen_by(connection, reader, [line.kept for line in page.lines])
        lines = [replace(line, kept=kept) for line, kept in zip(page.lines, seen, strict=True)]
        policy = policy_of(loaded.settings)
        rows = await channels_listed(connection, lines, policy.scans, policy.retries)
    return answer(ChannelsPage(rows, None if page.next is None else str(page.next)))


@channels.get("/{channel}", response_model=ChannelShownPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, reader: Reader, loaded: AsSet, channel: ChannelNamed) -> Response:
    """One channel: what ``tidegate channel show --json`` prints, with its first topics and newest stretches."""
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        policy = policy_of(loaded.settings)
        document = await channel_shown(
            connection, kept, policy.scans, policy.retries, most_topics=_TOPICS + 1, most_spans=_SPANS
        )
    first = document.topics[:_TOPICS]
    following = first[-1].topic if len(document.topics) > _TOPICS else None
    return answer({**members(document), "topics": first, "next": following})


@channels.get("/{channel}/topics", response_model=TopicsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def topics(database: InDatabase, reader: Reader, channel: ChannelNamed, asked: TopicsAsked) -> Response:
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
        options = wanted.request() if wanted else MirrorRequest()
        remark = await operator_requests.enable(connection, kept, options)
        found = (await kept_channels.of_keys(connection, [kept.key]))[kept.key]
    return answer(Enabled(channel_row(found), remark))


@channels.post("/{channel}/disable", response_model=ChannelRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def disable(database: InDatabase, steerer: Steerer, channel: ChannelNamed) -> Response:
    """Stop mirroring a channel; what is stored stays. Does nothing if it is not mirrored."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        await kept_channels.disable(connection, kept)
        found = (await kept_channels.of_keys(connection, [kept.key]))[kept.key]
    return answer(channel_row(found))


@channels.post("/{channel}/cycle", **QUEUES_COMMAND)
async def cycle(database: InDatabase, steerer: Steerer, channel: ChannelNamed) -> Response:
    """Request a scan of a channel, even if it would be skipped."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        reader = await operator_requests.reader_of(connection, kept)
        return await accepted(connection, await operator_requests.ask_cycle(connection, reader, kept))


@channels.post("/{channel}/backfill", **QUEUES_COMMAND)
async def backfill(
    database: InDatabase, steerer: Steerer, channel: ChannelNamed, wanted: BackfillWanted | None = None
) -> Response:
    """Request a backfill of a channel that is mirrored in full."""
    depth = BackfillRequest(wanted.target, wanted.since, wanted.everything) if wanted else BackfillRequest()
    return await _queue(database, steerer, channel, partial(operator_requests.ask_backfill, depth=depth))


@channels.post("/{channel}/reconcile", **QUEUES_COMMAND)
async def reconcile(
    database: InDatabase, steerer: Steerer, channel: ChannelNamed, wanted: ReconcileWanted | None = None
) -> Response:
    """Request a comparison of the newest stored messages: edits are applied, deletions marked."""
    limit = wanted.limit if wanted else None
    return await _queue(database, steerer, channel, partial(operator_requests.ask_reconcile, limit=limit))


async def _queue(
    database: Database, steerer: Token, channel: str, ask: Callable[[Connection, KnownChannel], Awaitable[CommandId]]
) -> Response:
    """Leave a command about a channel for its reader."""
    async with database.transaction() as connection:
        kept = await channel_for(connection, steerer, channel)
        return await accepted(connection, await ask(connection, kept))
