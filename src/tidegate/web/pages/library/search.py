"""The search page: messages and files inside archives, with the query language of ``tidegate search``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.channels.queries import channel_list, channels
from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelKey
from tidegate.core.rules.markdown_text import formatted
from tidegate.database.pool import Connection
from tidegate.history.queries import nearby_texts
from tidegate.history.queries.nearby_texts import NearbyText, Neighbours
from tidegate.history.rules.message_links import original_link
from tidegate.search.queries.ranked_hits import COUNTED, SearchHit, SearchResults, count, search
from tidegate.search.rules.highlights import Piece, around_first, highlighted
from tidegate.search.rules.query_language import Query as SearchTerms
from tidegate.search.rules.query_language import read_query
from tidegate.search.rules.search_plan import HitOrder
from tidegate.search.rules.searchable_content import HAS_TAGS
from tidegate.web.api.parameters import Text, days_of
from tidegate.web.auth.page_session import GuardedRouter, SignedIn, count_as_heavy
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.page_response import page
from tidegate.web.server.heavy_request_limit import Heavy
from tidegate.web.template_filters import steady

_FINDS = 50
_PAGES = 100
_EXCERPT = 200  # characters
_OTHERS = 5
_NAME = 100  # characters of a file's name
_TITLES = 300
_ORDERS = {HitOrder.NEWEST: "Newest first", HitOrder.RELEVANCE: "Best match first"}
_THINGS = tuple(tag.removeprefix("has:") for tag in HAS_TAGS.values())

pages = GuardedRouter()


class SearchPageQuery(BaseModel):
    """The query, the order of its results, and the zone of its days, which is UTC without script.

    What is chosen beside the words is added to them: a *channel*, an *author*, days *since* and *until*, and what a
    message *has*.
    """

    q: Text = ""
    channel: Text = ""
    author: Text = ""
    since: date | Literal[""] = ""
    until: date | Literal[""] = ""
    has: Text = ""
    by: HitOrder = HitOrder.NEWEST
    zone: Text = ""
    page: int = Field(1, ge=1, le=_PAGES)

    @property
    def words(self) -> str:
        """The whole search in the query language; *until* takes its own day in.

        What was typed comes last, because a quote that is left open reaches to the end.
        """
        end = self.until + timedelta(days=1) if self.until and self.until < date.max else self.until
        chosen = {"in": self.channel, "from": self.author, "after": self.since, "before": end, "has": self.has}
        cleaned = {name: str(value).replace('"', " ").strip() for name, value in chosen.items()}
        return " ".join([*(f'{name}:"{value}"' for name, value in cleaned.items() if value), self.q]).strip()

    def given(self) -> dict[str, str]:
        """What was asked for, without what was left as it is."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def address(self, **other: Any) -> str:
        """The same search with something else, such as the next page."""
        return f"/messages?{urlencode({name: value for name, value in (self.given() | other).items() if value})}"

    @property
    def counted_at(self) -> str:
        """Where the number of results is asked for."""
        return f"/messages/count?{urlencode(self.given())}"


@dataclass(frozen=True, slots=True)
class SearchHitView:
    """A result with its links: to its channel here, and to the original.

    Its texts are in pieces, matches marked. *names* are those of its files, in pieces where the search has found them.
    """

    found: SearchHit
    key: ChannelKey
    link: str | None
    text: list[Piece]
    others: list[list[Piece]]
    names: list[tuple[str, list[Piece]]]
    before: NearbyText | None
    after: NearbyText | None


@pages.get("/messages")
async def find(
    request: Request, database: InDatabase, visitor: SignedIn, heavy: Heavy, asked: Annotated[SearchPageQuery, Query()]
) -> Response:
    """The search results: messages and files inside archives. An invalid query is explained on the page."""
    results, trouble = SearchResults([], more=False), ""
    views: list[SearchHitView] = []
    if asked.words:
        await count_as_heavy(visitor, heavy)
        try:
            async with database.connection() as connection:
                query, keys = await _asked_for(connection, asked)
                results = await search(
                    connection, query, channels=keys, order=asked.by, most=_FINDS, skip=(asked.page - 1) * _FINDS
                )
                places = [(one.key, one.id) for one in results.found if one.archive is None]
                beside = await nearby_texts.beside(connection, places) if places else {}
                views = [_view(one, query, beside.get((one.key, one.id), (None, None))) for one in results.found]
        except BadInput as problem:
            trouble = str(problem)
    async with database.connection() as connection:
        titles = await channel_list.mirrored_titles(connection, most=_TITLES)
    return page(
        request, "search.html", asked=asked, orders=_ORDERS, finds=views, results=results, trouble=trouble,
        titles=titles, things=_THINGS, pages=_PAGES,
    )  # fmt: skip


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
    query = read_query(asked.words, days_of(asked.zone or "UTC"))
    keys = None if query.channel is None else [(await channels.find(connection, query.channel)).key]
    return query, keys


def _view(one: SearchHit, query: SearchTerms, beside: Neighbours) -> SearchHitView:
    """A result; of its other texts only those that the search has found."""
    others = [pieces for text in one.texts if (pieces := _pieces(_plain(one, text), query, _EXCERPT))]
    return SearchHitView(
        one,
        one.key,
        original_link(one.platform, one.channel, one.id, guild=one.guild, topic=one.topic),
        around_first(highlighted(_plain(one, one.text), query.typed), 3 * _EXCERPT),
        others[:_OTHERS],
        [(name, _pieces(steady(name), query, _NAME)) for name in one.files if name],
        *(_line(one, near) for near in beside),
    )


def _pieces(text: str, query: SearchTerms, most: int) -> list[Piece]:
    """A text around its first match; nothing where it has none."""
    pieces = highlighted(text, query.typed)
    return around_first(pieces, most) if any(found for _, found in pieces) else []


def _line(one: SearchHit, near: NearbyText | None) -> NearbyText | None:
    """What was said beside a message, as one line without marks."""
    if near is None:
        return None
    text = formatted(near.text)[0] if one.platform.writes_markdown else near.text
    return NearbyText(near.author, " ".join(text.split()))


def _plain(one: SearchHit, text: str) -> str:
    """A text without its marks, and with the names behind its mentions; names of files are left as they are."""
    marked = one.platform.writes_markdown and one.archive is None
    return formatted(text, one.mentions)[0] if marked else text
