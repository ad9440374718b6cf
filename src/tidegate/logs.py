"""Logs that people read on a terminal and machines read elsewhere, without secrets in either.

Every part of the house logs through ``structlog.get_logger()``; libraries that log through the standard library come
out the same door. Logs go to stderr: stdout belongs to a command's answer.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO

import structlog
from pydantic import SecretStr
from structlog.typing import EventDict, Processor, WrappedLogger

from tidegate.setting_kinds import LogFormat, LogLevel

HIDDEN = "(hidden)"
_SECRET_NAME = re.compile(
    r"passw|passphrase|secret|token|credential|cookie|authori[sz]ation|(^|_)(api|auth|private|session)_?key|^key$|^dsn$",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^\s/:@]*):[^\s@]*@")
_CHATTY = ("alembic", "asyncio", "sqlalchemy", "uvicorn", "telethon")  # heard from warnings up


def set_up(level: LogLevel = LogLevel.INFO, form: LogFormat = LogFormat.AUTO, stream: TextIO | None = None) -> None:
    """Send every log line of this process to *stream* (stderr), masked and in one form; may be called again."""
    stream = stream or sys.stderr
    for_people = form is LogFormat.PEOPLE or (form is LogFormat.AUTO and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_before(),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                mask,
                _for_people(colors=stream.isatty()) if for_people else structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.value.upper(), force=True)
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


def mask(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Hide what a log must never hold: values under a secret's name, secrets by type, passwords inside addresses."""
    return {name: HIDDEN if _SECRET_NAME.search(name) else _masked(value) for name, value in event.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, SecretStr | bytes | bytearray | memoryview):
        return HIDDEN
    if isinstance(value, str):
        return _PASSWORD_IN_URL.sub(rf"\1:{HIDDEN}@", value)
    if isinstance(value, Mapping):
        return {name: HIDDEN if _SECRET_NAME.search(str(name)) else _masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _masked(str(value))


def _before() -> list[Processor]:
    """What is added to a line where it is written, whoever writes it."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]


def _for_people(*, colors: bool) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=colors, timestamp_key="at", exception_formatter=structlog.dev.plain_traceback, sort_keys=False
    )
