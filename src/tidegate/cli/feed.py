"""``tidegate feed``: what happened, once or as it happens."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell

if TYPE_CHECKING:
    from tidegate.store.database import Database
    from tidegate.store.feed import Cursor, Event

_NOW = "now"
_PAGE = 500


def show(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens from here on.")] = False,
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help='Start after this event; "now" leaves out the past.')
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="End after so many events.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, as is also written to a file or a pipe.")
    ] = False,
) -> None:
    """Show what happened, oldest first; each event's cursor resumes after it."""
    shell.run(_show(follow=follow, after=after, limit=limit, as_json=as_json or not sys.stdout.isatty()))


async def _show(*, follow: bool, after: str | None, limit: int | None, as_json: bool) -> None:
    from tidegate.store import feed

    cursor = feed.START if after in (None, _NOW) else feed.Cursor.parse(after)
    async with shell.house() as house:
        if after == _NOW:
            async with house.database.pool.acquire() as connection:
                cursor = await feed.latest(connection)
        events = feed.follow(house.database, cursor) if follow else _kept(house.database, cursor)
        async with aclosing(events):
            shown = await _print(events, limit, _json_line if as_json else _line)
    if not shown and not as_json:
        shell.say("Nothing happened since." if after else "Nothing happened yet.")


async def _print(events: AsyncIterator[Event], limit: int | None, write: Callable[[Event], str]) -> int:
    shown = 0
    with _while_somebody_reads():
        async for event in events:
            print(write(event), flush=True)
            shown += 1
            if shown == limit:
                break
    return shown


async def _kept(database: Database, after: Cursor) -> AsyncGenerator[Event, None]:
    """Everything that can be told by now."""
    from tidegate.store import feed

    more = True
    while more:
        async with database.pool.acquire() as connection:
            page = await feed.read(connection, after, _PAGE)
        for event in page:
            after = event.cursor
            yield event
        more = len(page) == _PAGE


@contextmanager
def _while_somebody_reads() -> Iterator[None]:
    """End with ``BrokenPipeError`` when the reader of a pipe goes away, also while there is nothing to write."""
    out = sys.stdout.fileno()
    if not stat.S_ISFIFO(os.fstat(out).st_mode):
        yield
        return
    loop, writing, gone = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()
    assert writing is not None

    def leave() -> None:
        loop.remove_reader(out)
        gone.set()
        writing.cancel()

    loop.add_reader(out, leave)  # a pipe's writing end becomes "readable" only when nobody reads it any more
    try:
        yield
    except asyncio.CancelledError:
        if gone.is_set():
            raise BrokenPipeError from None
        raise
    finally:
        loop.remove_reader(out)


def _json_line(event: Event) -> str:
    return json.dumps(event.as_json(), ensure_ascii=False)


def _line(event: Event) -> str:
    """An event for people, in their own time zone; what strangers named cannot steer the terminal."""
    at = event.at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
    details = " ".join(f"{name}={_word(value)}" for name, value in event.data.items())
    return _printable(f"{at}  {event.kind:<24}  {event.subject}  {details}".rstrip())


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
