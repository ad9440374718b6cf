"""The tables that platforms' libraries made for themselves, as a dump describes them, recognised word by word.

Tidegate's own tables are made by its migrations, whatever a dump says. A library's are known from the dump alone, which
may be forged. So each statement has to have one of the few shapes that plain tables have, with no function in it but
``length``. A dump with anything else in it is refused, and nothing of it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tidegate.core.errors import BadInput
from tidegate.core.platform import library_schemas

_NAME = r'(?:[a-z_][a-z0-9_]*|"[A-Za-z0-9_]+")'
_NAMES = rf"\({_NAME}(?:, {_NAME})*\)"
_TYPE = (
    r"(?:text|bytea|boolean|smallint|integer|bigint|real|double precision|numeric(?:\(\d+,\d+\))?|uuid|jsonb?|date"
    r"|character varying(?:\(\d+\))?|timestamp(?: with(?:out)? time zone)?)(?:\[\])?"
)
_TEXT = r"'(?:[^'\n]|'')*'"
_VALUE = rf"(?:-?\d+(?:\.\d+)?|{_TEXT}|true|false|NULL)(?:::{_TYPE})?"
_COLUMN = re.compile(rf"{_NAME} {_TYPE}(?: DEFAULT {_VALUE})?(?: CONSTRAINT {_NAME})?(?: NOT NULL)?")
_CHECK = re.compile(rf"CONSTRAINT {_NAME} CHECK (?P<condition>\(.*\))")
_REACTION = r"(?: ON (?:UPDATE|DELETE) (?:CASCADE|RESTRICT|NO ACTION|SET NULL|SET DEFAULT))*"
_ORDERED = rf"{_NAME}(?: DESC| NULLS FIRST| NULLS LAST)*"
_WORD = re.compile(
    rf"{_TEXT}|-?\d+(?:\.\d+)?"
    rf"|(?P<name>{_NAME}|AND|OR|NOT|IN|ANY|ARRAY|IS|NULL|LIKE)(?![\w'$])(?P<call> *(?=\())?"
    r"|<=|>=|<>|::|[=<>,\[\] ]|(?P<open>\()|(?P<close>\))"
)
_MAY_BE_CALLED = {"length", "octet_length", "AND", "OR", "NOT", "IN", "ANY"}


@dataclass(frozen=True, slots=True)
class _Shapes:
    """The statements that may stand in a dump of some schemas."""

    start: re.Pattern[str]
    key: re.Pattern[str]
    reference: re.Pattern[str]
    index: re.Pattern[str]
    of_no_use: re.Pattern[str]


@cache
def _shapes(schemas: Sequence[str]) -> _Shapes:
    schema = f"(?:{'|'.join(map(re.escape, schemas))})"
    table = rf"{schema}\.{_NAME}"
    return _Shapes(
        start=re.compile(rf"CREATE TABLE {table} \("),
        key=re.compile(rf"ALTER TABLE ONLY {table}\n    ADD CONSTRAINT {_NAME} (?:PRIMARY KEY|UNIQUE) {_NAMES};"),
        reference=re.compile(
            rf"ALTER TABLE ONLY {table}\n    ADD CONSTRAINT {_NAME} FOREIGN KEY {_NAMES} "
            rf"REFERENCES {table}{_NAMES}{_REACTION}(?: DEFERRABLE)?(?: INITIALLY DEFERRED)?;"
        ),
        index=re.compile(
            rf"CREATE (?:UNIQUE )?INDEX {_NAME} ON {table} USING btree \({_ORDERED}(?:, {_ORDERED})*\)"
            r"(?: WHERE (?P<condition>\(.*\)))?;"
        ),
        of_no_use=re.compile(
            rf"SET [a-z_]+ = [^;]*;|SELECT pg_catalog\.set_config\('search_path', '', false\);|CREATE SCHEMA {schema};"
            rf"|ALTER TABLE ONLY {table} ALTER COLUMN {_NAME} SET \(pg_attver=\d+\);"  # a mark that some servers give
        ),
    )


@dataclass(frozen=True, slots=True)
class TableStatements:
    """How to make the tables: *tables* before their rows come, *rules* (keys, references, indexes) afterwards."""

    tables: list[str]
    rules: list[str]


def recognised(text: str) -> TableStatements:
    """The statements in the SQL of a dump of the libraries' schemas; refuses anything that is not a plain table."""
    found = TableStatements([], [])
    shapes = _shapes(library_schemas())
    for statement in _statements(text):
        if _is_table(statement, shapes):
            found.tables.append(statement)
        elif _is_rule(statement, shapes):
            found.rules.append(statement)
        elif not shapes.of_no_use.fullmatch(statement):
            raise BadInput(
                "The dump holds more than plain tables for a platform's library, so nothing of it was taken: "
                f"{statement[:100]!a}"
            )
    return found


def _statements(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        if not line or line.startswith(("--", "\\restrict ", "\\unrestrict ")):
            continue
        lines.append(line)
        if line.endswith(";"):
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _is_table(statement: str, shapes: _Shapes) -> bool:
    start, *items = statement.split("\n")
    if not shapes.start.fullmatch(start) or not items or items[-1] != ");":
        return False
    return all(_is_item(item.removeprefix("    ").removesuffix(",")) for item in items[:-1])


def _is_item(item: str) -> bool:
    if _COLUMN.fullmatch(item):
        return True
    check = _CHECK.fullmatch(item)
    return check is not None and _is_harmless(check["condition"])


def _is_rule(statement: str, shapes: _Shapes) -> bool:
    if shapes.key.fullmatch(statement) or shapes.reference.fullmatch(statement):
        return True
    index = shapes.index.fullmatch(statement)
    return index is not None and (index["condition"] is None or _is_harmless(index["condition"]))


def _is_harmless(condition: str) -> bool:
    """Whether it is one condition in brackets, of columns, constants and comparisons, that calls only a length."""
    at = depth = 0
    while at < len(condition):
        word = _WORD.match(condition, at)
        if word is None or (word["call"] is not None and word["name"] not in _MAY_BE_CALLED):
            return False
        depth += (word["open"] is not None) - (word["close"] is not None)
        at = word.end()
        if depth == 0:
            return at == len(condition)
    return False
