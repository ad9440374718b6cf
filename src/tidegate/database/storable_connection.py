"""Connections that store any text: what PostgreSQL cannot hold is replaced on the way.

Texts come from platforms, and one of them must never prevent a page of others from being stored. What a person sends to
the pages or the API is refused instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import asyncpg
from pydantic_core import to_json

from tidegate.core.errors import Unstorable
from tidegate.core.rules.storable_text import is_storable, storable, storable_json

refuses_unstorable: ContextVar[bool] = ContextVar("refuses_unstorable", default=False)
"""Whether texts come from a person and are refused when they cannot be stored; texts of platforms are not."""


class StorableConnection(asyncpg.Connection):
    """A connection whose every argument is made storable."""

    async def execute(self, query: str, *args: Any, **how: Any) -> str:
        return await super().execute(query, *map(_argument, args), **how)

    async def executemany(self, command: str, args: Iterable[Sequence[Any]], **how: Any) -> None:
        await super().executemany(command, [tuple(map(_argument, one)) for one in args], **how)

    async def fetch(self, query: str, *args: Any, **how: Any) -> Any:
        return await super().fetch(query, *map(_argument, args), **how)

    async def fetchval(self, query: str, *args: Any, **how: Any) -> Any:
        return await super().fetchval(query, *map(_argument, args), **how)

    async def fetchrow(self, query: str, *args: Any, **how: Any) -> Any:
        return await super().fetchrow(query, *map(_argument, args), **how)

    def cursor(self, query: str, *args: Any, **how: Any) -> Any:
        return super().cursor(query, *map(_argument, args), **how)


async def prepare(connection: asyncpg.Connection) -> None:
    """Have JSON travel as Python's own values, made storable."""
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json_text, decoder=json.loads)


def json_text(value: Any) -> str:
    """A value as PostgreSQL's jsonb takes it."""
    try:
        text = to_json(value).decode()  # several times as fast as the careful way
    except ValueError:  # half of a surrogate pair, or very deep nesting
        return _carefully(value)
    return _carefully(value) if "\\u0000" in text or "NaN" in text or "Infinity" in text else text


def _carefully(value: Any) -> str:
    try:
        text = _ENCODER.encode(value)
    except ValueError:  # a number that JSON has no sign for
        return json.dumps(storable_json(value))
    return text if "\\u0000" not in text and is_storable(text) else json.dumps(storable_json(value))


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _argument(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple) and not is_storable("".join([one for one in value if isinstance(one, str)])):
        return [_text(one) if isinstance(one, str) else one for one in value]
    return value


def _text(text: str) -> str:
    if is_storable(text):
        return text
    if refuses_unstorable.get():
        raise Unstorable
    return storable(text)
