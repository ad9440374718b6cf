"""How a command runs: its settings, the open database, errors as sentences with an exit code, and signals."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from tidegate.cli.error_messages import as_sentences
from tidegate.core.process.memory import without
from tidegate.core.terminal import say

if TYPE_CHECKING:  # loaded when a command needs them, so that --help and --version are quick
    from tidegate.app.composition import Runtime
    from tidegate.app.setting_sources import LoadedSettings
    from tidegate.app.settings import Settings

Work = Coroutine[Any, Any, None]


@cache
def loaded() -> LoadedSettings:
    """The settings with their sources. Logging is set up by them, and their warnings are printed.

    They are read once: afterwards the secrets among them are removed from the environment.
    """
    with without("rich"):  # structlog would draw tracebacks with it
        from tidegate.app import logs
    from tidegate.app.setting_sources import forget_secrets, load

    found = load()
    forget_secrets()
    logs.set_up(found.settings.log_level, found.settings.log_format)
    for warning in found.warnings:
        say(warning)
    return found


def settings() -> Settings:
    return loaded().settings


@asynccontextmanager
async def runtime(known: Settings | None = None) -> AsyncIterator[Runtime]:
    """The open database and settings, closed at the end; reads the settings unless they are *known* already."""
    from tidegate.app.composition import open_runtime

    async with open_runtime(known or settings()) as opened:
        yield opened


def run(work: Work | Callable[[], Work | None]) -> None:
    """Do a command's work; an exception becomes a sentence on stderr and an exit code."""
    with as_sentences():
        begun = work() if callable(work) else work
        if begun is not None:
            asyncio.run(begun)


@asynccontextmanager
async def stop_signal() -> AsyncIterator[asyncio.Event]:
    """An event that Ctrl-C or SIGTERM sets, for an orderly shutdown; a second Ctrl-C ends the program at once."""
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


def exempt_from_collection() -> None:
    """Keep the garbage collector from scanning loaded modules: a scan holds the event loop for 100 ms."""
    gc.collect()
    gc.freeze()
