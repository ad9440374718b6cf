"""What every command does around its work: settings, the open house, and answers on stdout."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tidegate.cli.failures import as_sentences

if TYPE_CHECKING:  # loaded when a command needs them, so that --help and --version are quick
    from tidegate.app import House
    from tidegate.settings import Settings
    from tidegate.sources import Loaded

Work = Coroutine[Any, Any, None]


def loaded() -> Loaded:
    """The settings with their sources, and logs set up by them; says what the operator should hear about them."""
    from tidegate import logs
    from tidegate.sources import load

    found = load()
    logs.set_up(found.settings.log_level, found.settings.log_format)
    for warning in found.warnings:
        say(warning)
    return found


def settings() -> Settings:
    return loaded().settings


@asynccontextmanager
async def house(known: Settings | None = None) -> AsyncIterator[House]:
    """The open house, closed at the end; reads the settings unless they are *known* already."""
    from tidegate.app import open_house

    async with open_house(known or settings()) as opened:
        yield opened


def run(work: Work | Callable[[], Work | None]) -> None:
    """Do a command's work; whatever it raises becomes a sentence on stderr and an exit code."""
    with as_sentences():
        begun = work() if callable(work) else work
        if begun is not None:
            asyncio.run(begun)


@asynccontextmanager
async def told_to_end() -> AsyncIterator[asyncio.Event]:
    """An event that Ctrl-C or SIGTERM sets, once, for work that ends in order; a second Ctrl-C ends it at once."""
    end, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell() -> None:
        end.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, tell)
    loop.add_signal_handler(signal.SIGTERM, tell)
    try:
        yield end
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


def say(sentence: str) -> None:
    """Tell the person at the terminal something that is not the answer: it goes to stderr."""
    print(sentence, file=sys.stderr)


def print_json(document: object) -> None:
    """The answer for scripts: one JSON document on stdout."""
    print(json.dumps(document, ensure_ascii=False, indent=2, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """The answer for people; *empty* says what to do next when there are no rows."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = [[Text("" if cell is None else str(cell)) for cell in row] for row in rows]
    if not lines:
        say(empty)
        return
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        table.add_row(*line)
    console = Console()
    with console.capture() as drawn:
        console.print(table)
    print(drawn.get(), end="")  # not by Rich, which has a mind of its own when nobody reads any more
