"""``tidegate search``: messages, and files inside archives."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput
from tidegate.core.rules.readable_values import readable_time

if TYPE_CHECKING:
    from tidegate.search.queries.ranked_hits import SearchResults

_INSIDE = " \u203a "  # between a server, its channel and a thread


class SearchOrder(StrEnum):
    """The order of results."""

    NEWEST = "newest"
    RELEVANCE = "relevance"


def search(
    query: Annotated[
        list[str],
        typer.Argument(
            help='Words (prefixes match), "phrases", -excluded ones, and one OR another. '
            "Filters: from:NAME, in:CHANNEL, topic:TITLE, after:DATE, before:DATE, "
            "has:image|video|voice|file|link|poll|embed."
        ),
    ],
    channel: Annotated[
        str | None, typer.Option(metavar="CHANNEL", help="Search only in this channel (title or number).")
    ] = None,
    by: Annotated[
        SearchOrder, typer.Option(help="Sort order; relevance ranks the newest 2,000 matches.")
    ] = SearchOrder.NEWEST,
    limit: Annotated[int, typer.Option(min=1, max=1_000, metavar="N", help="Maximum number of results.")] = 50,
    as_json: Json = False,
) -> None:
    """Search messages and files inside archives. Makes no platform call."""
    command_runner.run(_search(" ".join(query), channel, by, limit, as_json=as_json))


async def _search(text: str, named: str | None, by: SearchOrder, limit: int, *, as_json: bool) -> None:
    from tidegate.channels.queries import channels
    from tidegate.search.documents import search_document
    from tidegate.search.queries.ranked_hits import count
    from tidegate.search.queries.ranked_hits import search as find
    from tidegate.search.rules.query_language import read_query
    from tidegate.search.rules.search_plan import HitOrder

    query = read_query(text, lambda moment: moment.astimezone())
    if named is not None and query.channel is not None:
        raise BadInput("The channel is given twice: with --channel and in the search itself.")
    wanted = named if query.channel is None else query.channel
    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        keys = None if wanted is None else [(await channels.find(connection, wanted)).key]
        results = await find(connection, query, channels=keys, order=HitOrder(by.value), most=limit)
        counted = await count(connection, query, channels=keys) if results.more else len(results.found)
    if as_json:
        terminal.print_json(search_document(text, results))
    else:
        _print(text, results, counted)


def _print(text: str, results: SearchResults, counted: int) -> None:
    from tidegate.search.queries.ranked_hits import COUNTED

    rows = [
        (
            readable_time(one.at),
            _INSIDE.join(name for name in (one.server, one.parent_title, one.title) if name),
            one.author,
            " ".join([one.text, *one.files, *one.texts]).strip(),
            one.archive_name or "",
        )
        for one in results.found
    ]
    empty = f"Nothing was found for: {text}"
    terminal.print_table(["at", "channel", "author", "text", "archive"], rows, empty=empty, important="text")
    if results.weighed is not None:
        terminal.say(f"There are more matches: relevance ranked only the newest {results.weighed:,}.")
    if results.more:
        number = f"more than {COUNTED:,}" if counted > COUNTED else f"{counted:,}"
        terminal.say(f"Showing {len(results.found):,} of {number} results; use --limit N for more.")
