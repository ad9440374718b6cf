"""Logs for people on a terminal and for machines elsewhere, without secrets in either.

All code logs through ``structlog.get_logger()``; libraries that log through the standard library get the same format.
Logs go to stderr: stdout is for a command's output.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any, TextIO

import structlog
from pydantic import SecretStr
from structlog.typing import EventDict, Processor, WrappedLogger

from tidegate.app.setting_types import LogFormat, LogLevel
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.rules.terminal_text import json_text, many_lines, one_line
from tidegate.core.terminal import unguarded

HIDDEN = "(hidden)"
_SECRET_NAME = re.compile(
    r"passw|passphrase|secret|token|credential|cookie|authori[sz]ation|(^|_)(api|auth|private|session)_?key|^key$|^dsn$",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^\s/:@]*):[^\s@]*@")
_BASIC_CREDENTIALS = re.compile(r"\b(Basic\s+)[A-Za-z0-9+/]{4,}={0,2}(?=['\"])", re.IGNORECASE)
"""As in the repr of a request's headers; the quote after it distinguishes it from prose."""
_TRACEBACKS = ("exception", "stack")
_CHATTY = ("asyncio", "uvicorn", "telethon")  # logged from warnings up
_AT_CLIENTS_MERCY = ("asyncio", "uvicorn", "tidegate.web")
"""Loggers whose lines any client of the web server can cause."""


def set_up(
    level: LogLevel = LogLevel.INFO,
    form: LogFormat = LogFormat.AUTO,
    stream: TextIO | None = None,
    clock: Clock | None = None,
) -> None:
    """Send every log line of this process to *stream* (stderr), masked and in one form; may be called again."""
    stream = stream or sys.stderr
    for_people = form is LogFormat.PEOPLE or (form is LogFormat.AUTO and stream.isatty())
    handler = logging.StreamHandler(unguarded(stream))
    handler.addFilter(RepeatLimit(clock or SystemClock()))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_before(),
            processors=[
                _count_repeats,
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                mask,
                *([_visible, _for_people(colors=stream.isatty())] if for_people else [_as_json]),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.value.upper(), force=True)
    logging.captureWarnings(capture=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_before(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


@dataclass(slots=True)
class _Kind:
    """When a kind of line was last written, and how many were left out since."""

    written_at: float
    left_out: int = 0


class RepeatLimit(logging.Filter):
    """Lets one line of a kind through every ten seconds, of the loggers that web clients can cause lines of.

    A kind is a logger's message before its values are filled in, and where the exception was raised, if there is
    one. The next line of a kind says how many were left out before it (``left_out``).
    """

    EVERY = 10.0
    _MOST = 1_000  # kinds that are remembered

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[tuple[object, ...], _Kind] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not f"{record.name}.".startswith(tuple(f"{name}." for name in _AT_CLIENTS_MERCY)):
            return True
        now, kind = self._clock.ticks(), _kind_of(record)
        known = self._kinds.get(kind)
        if known is not None and now - known.written_at < self.EVERY:
            known.left_out += 1
            return False
        if len(self._kinds) >= self._MOST:
            self._kinds.clear()
        self._kinds[kind] = _Kind(now)
        record.left_out = known.left_out if known else 0
        return True


def _kind_of(record: logging.LogRecord) -> tuple[object, ...]:
    event = record.msg.get("event") if isinstance(record.msg, dict) else record.msg
    _, problem, trace = record.exc_info if isinstance(record.exc_info, tuple) else (None, None, None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = None if trace is None else (trace.tb_frame.f_code, trace.tb_lineno)
    return record.name, record.levelno, str(event).partition("\n")[0], type(problem), where


def _count_repeats(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    left_out = getattr(event["_record"], "left_out", 0)
    return {**event, "left_out": left_out} if left_out else event


def mask(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Hide what a log must never hold: values under a secret's name, secrets by type, passwords in text."""
    return {name: HIDDEN if _SECRET_NAME.search(name) else _masked(value) for name, value in event.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, SecretStr | bytes | bytearray | memoryview):
        return HIDDEN
    if isinstance(value, str):
        return _BASIC_CREDENTIALS.sub(rf"\1{HIDDEN}", _PASSWORD_IN_URL.sub(rf"\1:{HIDDEN}@", value))
    if isinstance(value, Mapping):
        return {name: HIDDEN if _SECRET_NAME.search(str(name)) else _masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _masked(str(value))


def _before() -> list[Processor]:
    """Values that are added to every line of a process."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]


def _visible(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Prevent logged text from controlling the terminal, and from looking like a line or a value of its own."""
    return {one_line(name): _indented(value) if name in _TRACEBACKS else _shown(value) for name, value in event.items()}


def _shown(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return one_line(value if isinstance(value, str) else repr(value))


def _indented(traceback: Any) -> str:
    return indent(many_lines(str(traceback)), "    ", lambda _: True)


def _as_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return json_text(event)


def _for_people(*, colors: bool) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=colors, timestamp_key="at", exception_formatter=structlog.dev.plain_traceback, sort_keys=False
    )
