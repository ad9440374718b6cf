"""Progress bars on standard error."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidegate.core.rules.terminal_text import one_line
from tidegate.core.terminal import console_of

if TYPE_CHECKING:  # loaded when something is drawn, so that --help is quick
    from rich.progress import Progress, TaskID


class ProgressBars:
    """Progress bars on stderr, one per key: a title, the bar, and the result."""

    def __init__(self, drawn: Progress) -> None:
        self._drawn = drawn
        self._tasks: dict[Hashable, TaskID] = {}

    def move(self, key: Hashable, title: str, completed: int, total: int | None) -> None:
        """Show the progress; without a *total* the length is unknown."""
        self._drawn.update(self._task(key, title), completed=completed, total=total, note="")

    def end(self, key: Hashable, title: str, note: str) -> None:
        """Fill the bar and show its result."""
        task = self._task(key, title)
        completed = self._drawn.tasks[task].completed or 1
        self._drawn.update(task, total=completed, completed=completed, note=one_line(note))

    def _task(self, key: Hashable, title: str) -> TaskID:
        if key not in self._tasks:
            self._tasks[key] = self._drawn.add_task(one_line(title), total=None, note="")
        return self._tasks[key]


@contextmanager
def progress_bars() -> Iterator[ProgressBars | None]:
    """Progress bars for the duration of the block; None if stderr is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = console_of(sys.stderr)
    if not console.is_terminal:
        yield None
        return
    title, note = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[note]}"))
    columns = (title, BarColumn(), MofNCompleteColumn(), note)
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as drawn:
        yield ProgressBars(drawn)
