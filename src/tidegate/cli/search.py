"""``tidegate search``: messages, and files inside archives."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli import shell


def search(
    query: Annotated[list[str], typer.Argument(help="Words, each from its beginning on; all of them must be there.")],
    channel: Annotated[str | None, typer.Option(help="Only in this channel: its title or number.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, metavar="N", help="The newest so many.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Search messages and the names of files inside archives, newest first; asks no platform."""
    shell.run(_search(" ".join(query), channel, limit, as_json=as_json))


async def _search(query: str, named: str | None, limit: int, *, as_json: bool) -> None:
    from tidegate.store import channels
    from tidegate.store.search import search as find

    async with shell.house() as house, house.database.connection() as connection:
        key = None if named is None else (await channels.find(connection, named)).key
        found, more = await find(connection, query, channel=key, most=limit)
    if as_json:
        shell.print_json({"query": query, "results": [one.as_json() for one in found], "more": more})
        return
    rows = [
        (f"{one.at.astimezone():%Y-%m-%d %H:%M %Z}", one.title, one.kind, one.text, one.archive_name or "")
        for one in found
    ]
    shell.print_table(["at", "channel", "kind", "text", "archive"], rows, empty=f'Nothing has all words of "{query}".')
    if more:
        shell.say(f"There is more: the newest {limit} are shown, --limit shows others.")
