"""``tidegate search``: messages, and files inside archives."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput

if TYPE_CHECKING:
    from tidegate.store.search import Results


class By(StrEnum):
    """What comes first."""

    NEWEST = "newest"
    RELEVANCE = "relevance"


def search(
    query: Annotated[
        list[str],
        typer.Argument(
            help='Words, each from its beginning on, and "phrases"; all must be there. '
            "Also author:NAME, channel:TITLE, after:DATE, before:DATE and has:file."
        ),
    ],
    channel: Annotated[str | None, typer.Option(help="Only in this channel: its title or number.")] = None,
    by: Annotated[By, typer.Option(help="What comes first; relevance is weighed among the newest 5,000.")] = By.NEWEST,
    limit: Annotated[int, typer.Option(min=1, max=1_000, metavar="N", help="The first so many.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Search messages and the names of files inside archives, newest first; asks no platform."""
    shell.run(_search(" ".join(query), channel, by, limit, as_json=as_json))


async def _search(text: str, named: str | None, by: By, limit: int, *, as_json: bool) -> None:
    from tidegate.rules.querying import read_query
    from tidegate.store import channels
    from tidegate.store.search import Order
    from tidegate.store.search import search as find

    query = read_query(text, lambda moment: moment.astimezone())
    if named is not None and query.channel is not None:
        raise BadInput("The channel is given twice: with --channel and in the search itself.")
    wanted = named if query.channel is None else query.channel
    async with shell.house() as house, house.database.connection() as connection:
        keys = None if wanted is None else [(await channels.find(connection, wanted)).key]
        results = await find(connection, query, channels=keys, order=Order(by.value), most=limit)
    if as_json:
        shell.print_json({"query": text, **results.as_json()})
    else:
        _print(text, results, limit)


def _print(text: str, results: Results, limit: int) -> None:
    rows = [
        (
            f"{one.at.astimezone():%Y-%m-%d %H:%M %Z}",
            one.title,
            one.author,
            " ".join([one.text, *one.files]).strip(),
            one.archive_name or "",
        )
        for one in results.found
    ]
    empty = f"Nothing was found for: {text}"
    shell.print_table(["at", "channel", "author", "text", "archive"], rows, empty=empty)
    if results.weighed is not None:
        shell.say(f"There are more matches: relevance was weighed among the newest {results.weighed:,}.")
    if results.more:
        shell.say(f"There is more: {limit} are shown, --limit shows others.")
