"""The one place that writes to standard output and standard error, for people and for scripts.

Text from outside reaches a terminal through ``rules.terminal_text`` alone, also through a pipe, which often ends in a
terminal. Commands print with the functions here. What libraries and Python itself write passes a guarded stream.
"""

from __future__ import annotations

import getpass
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tidegate.core.errors import BadInput
from tidegate.core.rules.readable_values import readable_time, yes_or_no
from tidegate.core.rules.table_layout import GAP, column_widths
from tidegate.core.rules.terminal_text import json_text, many_lines, one_line

if TYPE_CHECKING:  # loaded when something is drawn, so that --help is quick
    from rich.console import Console


_ID = re.compile(r"(?:[-+]?[0-9][0-9.,:@a-z-]*(?: [0-9]{2}:[0-9]{2} \S{1,5}| bytes?| [kMGT]B)?)?", re.ASCII)
"""Numbers, ids, sizes and times, which are never broken; a cell may also be empty."""


class GuardedStream(io.TextIOBase):
    """A standard stream that makes dangerous characters visible, also for code that writes to it directly.

    It has no ``buffer``: a library that finds one may write past the guard.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]  # nobody sets it
        return self.unguarded.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]  # nobody sets it
        return self.unguarded.errors

    def write(self, text: str) -> int:
        self.unguarded.write(many_lines(text))
        return len(text)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        self.unguarded.flush()

    def fileno(self) -> int:
        return self.unguarded.fileno()

    def isatty(self) -> bool:
        return self.unguarded.isatty()


def guard_streams() -> None:
    """Guard standard output and error of this process, at its start; may be repeated."""
    sys.stdout = GuardedStream(unguarded(sys.stdout))
    sys.stderr = GuardedStream(unguarded(sys.stderr))


def unguarded(stream: TextIO) -> TextIO:
    """The stream below the guard, for output whose texts are safe already and that has colours of our own."""
    return stream.unguarded if isinstance(stream, GuardedStream) else stream


def say(sentence: str) -> None:
    """Print a remark for the person at the terminal, to stderr.

    Lines after the first are indented, so that a name with a line end in it cannot pass for a sentence of ours.
    """
    print(many_lines(sentence).replace("\n", "\n  "), file=sys.stderr)


def print_line(line: str) -> None:
    """Print one line, flushed at once; line ends in it are escaped."""
    print(one_line(line), flush=True)


def print_document(text: str) -> None:
    """Print a text of several lines that ends with a line end."""
    print(many_lines(text), end="")


def print_json(document: object) -> None:
    """Print one JSON document on stdout, for scripts."""
    print(json_text(document, indent=2))


def print_json_line(document: object) -> None:
    """Print one of many JSON documents, on one line."""
    print(json_text(document), flush=True)


def print_bytes(content: bytes) -> None:
    """Print binary data; a terminal would interpret it as commands."""
    if sys.stdout.isatty():
        raise BadInput("This is not text, and a terminal would take it for commands; send it to a file or a pipe.")
    sys.stdout.flush()
    unguarded(sys.stdout).buffer.write(content)


def refuse_terminal(file: Path) -> None:
    """Refuse to write binary data to a terminal, such as /dev/stdout without a pipe."""
    if file.is_char_device():
        opened = os.open(file, os.O_WRONLY | os.O_NOCTTY)
        try:
            if os.isatty(opened):
                raise BadInput(f"{file} is a terminal, which would take what is not text for commands; name a file.")
        finally:
            os.close(opened)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, important: str | None = None
) -> None:
    """Print a table for people; *empty* says what to do next if there are no rows.

    In a pipe or file each row is one line, however long, and no cell is cut. At a terminal cells are wrapped to fit:
    the *important* column last, and ids never. Columns without any value are left out there.
    """
    table = [[_cell(value) for value in row] for row in rows]
    if not table:
        say(empty)
    elif sys.stdout.isatty():
        _draw_table(columns, table, important)
    else:
        _print_lines([list(columns), *table])


def _cell(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return yes_or_no(value)
    if isinstance(value, datetime):
        return readable_time(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return str(value)


def _print_lines(lines: Sequence[Sequence[str]]) -> None:
    """Print aligned columns, one line a row."""
    from rich.cells import cell_len

    safe = [[one_line(cell) for cell in line] for line in lines]
    widths = [max(map(cell_len, column)) for column in zip(*safe, strict=True)]
    for line in safe:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))
        print((" " * GAP).join(padded).rstrip())


def _draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], important: str | None) -> None:
    """Draw a table as wide as the terminal. The first cell of a row is one line, so no name can pass for a row."""
    from rich.table import Table
    from rich.text import Text

    used = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    names = [one_line(columns[place]) for place in used]
    safe = [[one_line(row[used[0]]), *(many_lines(row[place]) for place in used[1:])] for row in rows]
    console = console_of(sys.stdout)
    widths = _widths(names, safe, console.width, important)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name, width in zip(names, widths, strict=True):
        table.add_column(Text(name), width=width, overflow="fold")
    for row in safe:
        table.add_row(*map(Text, row))
    console.width = max(console.width, sum(widths) + GAP * len(widths))
    with console.capture() as drawn:
        console.print(table)
    lines = "\n".join(line.rstrip() for line in drawn.get().split("\n"))
    unguarded(sys.stdout).write(lines)  # not by Rich, which handles a closed pipe differently


def _widths(names: Sequence[str], rows: Sequence[Sequence[str]], room: int, important: str | None) -> list[int]:
    from rich.cells import cell_len

    cells = [[name, *column] for name, column in zip(names, zip(*rows, strict=True), strict=True)]
    natural = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in cells]
    whole = [place for place, column in enumerate(cells) if all(_ID.fullmatch(cell) for cell in column[1:])]
    first = [place for place, name in enumerate(names) if name == important]
    return column_widths(natural, room, whole=whole, important=first)


def print_rows(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, empty: str = "", important: str | None = None
) -> None:
    """Print a table of documents for people: these keys of each, without underscores in the headings."""
    print_table(
        [column.replace("_", " ") for column in columns], ([row[column] for column in columns] for row in rows),
        empty=empty, important=important,
    )  # fmt: skip


def print_values(values: Iterable[tuple[str, object]]) -> None:
    """Print one thing for people: each name and its value on a line of its own; what has no value is left out."""
    shown = [(name.replace("_", " "), text) for name, value in values if (text := _cell(value))]
    width = max((len(name) for name, _ in shown), default=0)
    for name, text in shown:
        indent = "\n" + " " * (width + GAP)
        print(f"{one_line(name):<{width}}{' ' * GAP}{many_lines(text).replace(chr(10), indent)}")


def print_qr(text: str) -> None:
    """Print a QR code as blocks on stderr."""
    import segno

    segno.make_qr(text).terminal(out=unguarded(sys.stderr), compact=True)


def ask(question: str) -> str:
    """Ask a question on stderr; the answer is visible while it is typed."""
    print(f"{one_line(question)}: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().rstrip("\n")


def ask_hidden(question: str) -> str:
    """Ask for an answer that is hidden while it is typed."""
    return getpass.getpass(f"{one_line(question)}: ")


def confirm(question: str) -> None:
    """Ask for a yes; anything else ends the command."""
    import typer

    typer.confirm(one_line(question), abort=True)


@contextmanager
def changing_line() -> Iterator[Callable[[str], None]]:
    """At a terminal each line replaces the last, so that the text above stays visible."""
    from rich.live import Live
    from rich.text import Text

    if not sys.stdout.isatty():
        yield print_line
        return
    console = console_of(sys.stdout)
    with Live(auto_refresh=False, console=console, redirect_stdout=False, redirect_stderr=False) as live:
        yield lambda line: live.update(Text(one_line(line)), refresh=True)


def console_of(stream: TextIO) -> Console:
    """What Rich draws on a standard stream with."""
    from rich.console import Console

    return Console(file=unguarded(stream))
