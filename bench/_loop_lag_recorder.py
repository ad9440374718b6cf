"""``python -m bench._loop_lag_recorder FILE ARGUMENTS…``: tidegate with these arguments; its loop's lags go to FILE.

The metric sorts lags into buckets; here each is a line, so that a bench can tell exactly.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import TextIO

from tidegate.app.loop_lag import watch
from tidegate.cli import main
from tidegate.core.clock import SystemClock

EVERY = timedelta(milliseconds=10)


class _Watched(asyncio.DefaultEventLoopPolicy):
    """Loops that are watched from their first moment on."""

    def __init__(self, into: TextIO) -> None:
        super().__init__()
        self._into = into

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        watching = watch(SystemClock(), every=EVERY, into=lambda seconds: print(seconds, file=self._into))
        self._watching = loop.create_task(watching)
        return loop


if __name__ == "__main__":
    with Path(sys.argv.pop(1)).open("w", buffering=1) as lags:
        asyncio.set_event_loop_policy(_Watched(lags))
        main()
