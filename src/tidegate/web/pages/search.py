"""The search page: messages and files inside archives, with the query language of ``tidegate search``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.channels.queries import channels
from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelKey
from tidegate.core.rules.markdown_text import formatted
from tidegate.database.pool import Connection
from tidegate.history.rules.message_links import original_link
from tidegate.search.queries.search import COUNTED, HitOrder, SearchHit, SearchResults, count, search
from tidegate.search.rules.highlights import Piece, around_first, highlighted
from tidegate.search.rules.query_language import Query as SearchTerms
from tidegate.search.rules.query_language import read_query
from tidegate.web.api.parameters import Text, days_of
from tidegate.web.auth.page_session import SignedIn, count_as_heavy
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.page_response import page
from tidegate.web.server.heavy_request_limit import Heavy
from tidegate.web.server.request_bodies import Router

_FINDS = 50
_PAGES = 100
_EXCERPT = 200  # characters
_OTHERS = 5

pages = Router()


class SearchPageQuery(BaseModel):
    """The query, the order of its results, and the zone of its days, which is UTC without script."""

    q: Text = ""
    by: HitOrder = HitOrder.NEWEST
    zone: Text = ""
    page: int = Field(1, ge=1, le=_PAGES)

    def address(self, **other: Any) -> str:
        """The same search with something else, such as the next page."""
        return f"/messages?{urlencode(self.model_dump(mode='json') | other)}"


@dataclass(frozen=True, slots=True)
class SearchHitView:
    """A result with its links: to its channel here, and to the original. Its texts are in pieces, matches marked."""

    found: SearchHit
    key: ChannelKey
    link: str | None
    text: list[Piece]
    others: list[list[Piece]]


@pages.get("/messages")
async def find(
    request: Request, database: InDatabase, visitor: SignedIn, heavy: Heavy, asked: Annotated[SearchPageQuery, Query()]
) -> Response:
    """The search results: messages and files inside archives. An invalid query is explained on the page."""
    results, trouble = SearchResults([], more=False), ""
    views: list[SearchHitView] = []
    if asked.q.strip():
        await count_as_heavy(visitor, heavy)
        try:
            async with database.connection() as connection:
                query, keys = await _asked_for(connection, asked)
                results = await search(
                    connection, query, channels=keys, order=asked.by, most=_FINDS, skip=(asked.page - 1) * _FINDS
                )
                views = [_view(one, query) for one in results.found]
        except BadInput as problem:
            trouble = str(problem)
    return page(
        request, "search.html", asked=asked, orders=list(HitOrder), finds=views, results=results, trouble=trouble
    )


@pages.get("/messages/count")
async def how_many(
    request: Request, database: InDatabase, visitor: SignedIn, heavy: Heavy, asked: Annotated[SearchPageQuery, Query()]
) -> Response:
    """How many results there are, which the page asks for when it shows the first of them."""
    await count_as_heavy(visitor, heavy)
    try:
        async with database.connection() as connection:
            query, keys = await _asked_for(connection, asked)
            counted = await count(connection, query, channels=keys)
    except BadInput:  # the page itself explains it
        counted = 0
    return page(request, "parts/search_count.html", counted=counted, most=COUNTED)


async def _asked_for(
    connection: Connection, asked: SearchPageQuery
) -> tuple[SearchTerms, Collection[ChannelKey] | None]:
    query = read_query(asked.q, days_of(asked.zone or "UTC"))
    keys = None if query.channel is None else [(await channels.find(connection, query.channel)).key]
    return query, keys


def _view(one: SearchHit, query: SearchTerms) -> SearchHitView:
    """A result; of its other texts only those that the search has found."""
    marked = (highlighted(_plain(one, text), query.typed) for text in one.texts)
    others = [around_first(pieces, _EXCERPT) for pieces in marked if any(found for _, found in pieces)]
    return SearchHitView(
        one,
        one.key,
        original_link(one.platform, one.channel, one.id, guild=one.guild, topic=one.topic),
        around_first(highlighted(_plain(one, one.text), query.typed), 3 * _EXCERPT),
        others[:_OTHERS],
    )


def _plain(one: SearchHit, text: str) -> str:
    """A text without its marks, and with the names behind its mentions; names of files are left as they are."""
    marked = one.platform.writes_markdown and one.archive is None
    return formatted(text, one.mentions)[0] if marked else text
