"""Search over the API: messages and files inside archives, of the channels that the token may read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.access.queries.tokens import Token
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection
from tidegate.search.documents import SearchCount, SearchDocument, search_count, search_document
from tidegate.search.queries.ranked_hits import SearchResults, count, search
from tidegate.search.rules.query_language import read_query
from tidegate.search.rules.search_plan import HitOrder
from tidegate.web.api.parameters import Text, days_of
from tidegate.web.api.responses import answer, refusals
from tidegate.web.auth.token_check import InDatabase, Reader, channel_for, hidden_from, holder
from tidegate.web.server.heavy_request_limit import Heavy
from tidegate.web.server.request_bodies import ApiRouter

found_messages = ApiRouter(tags=["messages"])

_MANY_RESULTS = 200
"""A request for more results is heavy."""


class SearchQuery(BaseModel):
    """The query, the order and the maximum number of results; days are those of *zone*."""

    q: Text
    by: HitOrder = HitOrder.NEWEST
    limit: int = Field(50, ge=1, le=1_000)
    offset: int = Field(0, ge=0, le=5_000)
    zone: Text = "UTC"


class CountQuery(BaseModel):
    """The query whose results are counted; days are those of *zone*."""

    q: Text
    zone: Text = "UTC"


@found_messages.get(
    "/search", response_model=SearchDocument, responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS)
)
async def find(database: InDatabase, reader: Reader, heavy: Heavy, asked: Annotated[SearchQuery, Query()]) -> Response:
    """What ``tidegate search --json`` prints, of the channels that the token may read."""
    query = read_query(asked.q, days_of(asked.zone))
    if asked.limit + asked.offset > _MANY_RESULTS:
        heavy.begin(holder(reader))
    async with database.connection() as connection:
        keys = await _channels(connection, reader, query.channel)
        hidden = await hidden_from(connection, reader)
        results = await search(
            connection, query, channels=keys, order=asked.by, most=asked.limit, skip=asked.offset, hidden=hidden
        )
    return answer(search_document(asked.q, _as_seen_by(reader, results)))


@found_messages.get(
    "/search/count", response_model=SearchCount, responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS)
)
async def how_many(database: InDatabase, reader: Reader, asked: Annotated[CountQuery, Query()]) -> Response:
    """How many results a search has, up to 5,000."""
    query = read_query(asked.q, days_of(asked.zone))
    async with database.connection() as connection:
        keys = await _channels(connection, reader, query.channel)
        counted = await count(connection, query, channels=keys, hidden=await hidden_from(connection, reader))
    return answer(search_count(asked.q, counted))


def _as_seen_by(reader: Token, results: SearchResults) -> SearchResults:
    """Results as a token may see them: a narrow one learns nothing of a channel that is not its own."""
    own = reader.channels
    if own is None:
        return results
    found = [one if one.parent_key in own else replace(one, parent_title="") for one in results.found]
    return replace(results, found=found)


async def _channels(connection: Connection, reader: Token, named: str | None) -> Collection[ChannelKey] | None:
    """The channels to look in; None looks everywhere."""
    return reader.channels if named is None else [(await channel_for(connection, reader, named)).key]
