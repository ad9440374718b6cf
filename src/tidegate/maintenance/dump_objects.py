"""The database objects that a dump lists, such as tables and functions. Of them, only rows are ever restored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from tidegate.core.errors import BadInput
from tidegate.core.platform import library_schemas
from tidegate.database.embedded.dump_programs import Tell

EXTENSIONS = frozenset({"plpgsql", "pg_trgm", "vector"})
"""Extensions that a dump may name. None is made from a dump: what a step needs, the step makes."""

_LINE = re.compile(r"\d+; \d+ \d+ (?P<kind>[A-Z]+(?: [A-Z]+)*) (?P<schema>\S+) (?P<name>.*) \S*")
_SAID_ELSEWHERE = {
    "ACL", "COMMENT", "DATABASE", "DEFAULT", "ENCODING", "EXTENSION", "SEARCHPATH", "SEQUENCE OWNED BY", "SEQUENCE SET",
    "STATISTICS DATA", "STDSTRINGS", "TABLE DATA",
}  # fmt: skip
"""Kinds that belong to another object, or to the dump itself."""

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class DumpObject:
    """One object that a dump lists."""

    kind: str  # as pg_restore lists it, such as TABLE
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.name}".encode("ascii", "backslashreplace").decode()

    @property
    def own_name(self) -> str:
        """Its name without the table's, where it belongs to one, and without arguments."""
        return self.name.partition("(")[0].rpartition(" ")[2]


def listed_objects(listed: str) -> list[DumpObject]:
    """The objects in what ``pg_restore --list`` prints."""
    found = (_LINE.fullmatch(line) for line in listed.splitlines() if not line.startswith(";"))
    return [DumpObject(line["kind"], line["schema"], line["name"]) for line in found if line]


def refuse_extensions(objects: Sequence[DumpObject]) -> None:
    """Refuse a dump that wants an extension: some run programs or read files as soon as they are there."""
    wanted = {one.name for one in objects if one.kind == "EXTENSION"} - EXTENSIONS
    if wanted:
        named = ", ".join(sorted(name.encode("ascii", "backslashreplace").decode() for name in wanted))
        raise BadInput(
            f"The backup wants PostgreSQL extensions that Tidegate does not use: {named}. Nothing was changed. "
            "A backup made by tidegate db backup of this release leaves them out."
        )


async def foreign_objects(connection: asyncpg.Connection, objects: Sequence[DumpObject]) -> list[str]:
    """What the dump holds beside the schema in this database and the tables of platforms' libraries."""
    known, of_libraries = await names_in(connection), library_schemas()
    return [
        str(one)
        for one in objects
        if one.kind not in _SAID_ELSEWHERE
        and one.schema not in of_libraries
        and not (one.kind == "SCHEMA" and one.name in (*of_libraries, "public"))
        and not (one.schema == "public" and one.own_name in known)
    ]


async def names_in(connection: asyncpg.Connection) -> set[str]:
    """The names of everything in this database's schema ``public``."""
    rows = await connection.fetch(
        """
        SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
        UNION SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
        UNION SELECT rulename FROM pg_rewrite
        """
    )
    return {row["name"] for row in rows}


def tell_left_out(names: Sequence[str], tell: Tell) -> None:
    """Say which things of the operator's own were not taken along; the first of them, if they are many."""
    if names:
        more = len(names) - _MOST_NAMED
        shown = [*names[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
        tell(f"left out what is not Tidegate's: {', '.join(shown)}")
