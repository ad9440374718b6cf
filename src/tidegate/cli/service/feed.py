"""``tidegate feed``: print past events, or follow new ones."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.core import terminal
from tidegate.core.rules.readable_values import readable_time

if TYPE_CHECKING:
    from tidegate.events.queries.feed import Event

_NOW = "now"
_NEWEST = 50
"""How many events a person at a terminal sees first."""


def show(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep running and print new events.")] = False,
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help='Start after this event; "now" skips past events.')
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Exit after this many events.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line. This is the default for files and pipes.")
    ] = False,
) -> None:
    """Print events, oldest first. Each event has a cursor that --after accepts.

    At a terminal it begins with the newest 50. Files and pipes get every event that is kept.
    """
    command_runner.run(_show(follow=follow, after=after, limit=limit, as_json=as_json or not sys.stdout.isatty()))


async def _show(*, follow: bool, after: str | None, limit: int | None, as_json: bool) -> None:
    from tidegate.events.queries import feed

    brief = after is None and limit is None and not as_json
    cursor = feed.START if after in (None, _NOW) else feed.FeedCursor.parse(after)
    async with command_runner.runtime() as runtime:
        if after == _NOW or brief:
            async with runtime.database.pool.acquire() as connection:
                cursor = await (feed.before_newest(connection, _NEWEST) if brief else feed.latest(connection))
        if cursor != feed.START and brief:
            terminal.say(f"The newest {_NEWEST} events. All of them: tidegate feed --after {feed.START}")
        events = feed.follow(runtime.database, cursor) if follow else feed.read_all(runtime.database, cursor)
        async with aclosing(events):
            shown = await _print(events, limit, _print_json if as_json else _print_line)
    if not shown and not as_json:
        terminal.say("No events since." if after else "No events yet.")


async def _print(events: AsyncIterator[Event], limit: int | None, write: Callable[[Event], None]) -> int:
    shown = 0
    with _while_somebody_reads():
        async for event in events:
            write(event)
            shown += 1
            if shown == limit:
                break
    return shown


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

    loop.add_reader(out, leave)  # the writing end of a pipe becomes "readable" only when its reader has closed it
    try:
        yield
    except asyncio.CancelledError:
        if gone.is_set():
            raise BrokenPipeError from None
        raise
    finally:
        loop.remove_reader(out)


def _print_json(event: Event) -> None:
    terminal.print_json_line(event.as_json())


def _print_line(event: Event) -> None:
    """An event for people, in their own time zone."""
    told = {name: value for name, value in event.data.items() if value}  # nothing that is empty, for people
    details = " ".join(f"{name}={_word(value)}" for name, value in told.items())
    terminal.print_line(f"{readable_time(event.at)}  {event.kind:<24}  {event.subject}  {details}".rstrip())


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
