"""Each id has a type of its own: ``tidegate.core.ids``."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.code_base.source_files import ROOT, SRC, breaches, name_of, nodes, parsed, python_files
from tidegate.core import ids

ONE = {
    "account", "account_id", "album", "archive", "archive_id", "author_id", "channel", "channel_id", "channel_key",
    "command", "command_id", "cycle", "destination", "duplicate_of", "guild", "guild_id", "identity", "key", "message",
    "message_id", "parent", "reader", "reminder", "reminder_id", "reply_to", "run", "run_id", "topic", "topic_id",
    "upload_id", "user_id",
}  # fmt: skip
"""Names that mean an id."""
SEVERAL = {"accounts", "archives", "channels", "guilds", "ids", "keys", "only", "reminders", "runs", "topics"}
"""Names that mean ids in a collection; a plain number of that name counts things."""


def annotated(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of public functions and the fields of classes, with their annotations."""
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not re.match("_(?!_init__)", node.name):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield from ((one.arg, one.annotation) for one in given if one.annotation)
        elif isinstance(node, ast.ClassDef):
            fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            yield from ((ast.unparse(one.target), one.annotation) for one in fields)


def is_number(annotation: ast.AST, numbers: Collection[str]) -> bool:
    """Whether a plain number is in an annotation. Typer knows no NewType, so a command makes an id of what it read."""
    nodes = [*ast.walk(annotation)]
    return any(isinstance(one, ast.Name) and one.id in numbers for one in nodes) and not any(
        isinstance(one, ast.Name) and one.id == "typer" for one in nodes
    )


@cache
def names_of_numbers() -> frozenset[str]:
    """``int``, and what modules call it, such as ``Number`` for one that is bounded."""
    assigned = [node for path in python_files("src") for node in parsed(path).body if isinstance(node, ast.Assign)]
    types = [node for node in assigned if isinstance(node.value, ast.Subscript) and is_number(node.value, {"int"})]
    return frozenset({"int", *(ast.unparse(node.targets[0]) for node in types)})


def untyped(tree: ast.AST) -> Iterator[str]:
    """What is named like an id, or like several, and is a plain number, or several."""
    for name, annotation in annotated(tree):
        inside = [node for node in ast.walk(annotation) if isinstance(node, ast.Subscript)]
        places = [annotation] if name in ONE else inside if name in SEVERAL else []
        if any(is_number(place, names_of_numbers()) for place in places):
            yield f"{name}: {ast.unparse(annotation)}"


def test_what_is_named_like_an_id_has_the_type_of_one() -> None:
    """A plain number goes unnoticed in the place of another. Loopback platforms have the ids of what they stand for."""
    paths = [path for path in python_files("src") if not path.is_relative_to(SRC / "loopback")]
    assert len(paths) > 300
    assert breaches(paths, untyped) == {}


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("async def park(connection: Connection, key: int) -> None: ...", ["key: int"]),
        ("class Taken:\n    archive: int | None\n    channel: ChannelId", ["archive: int | None"]),
        ("def listing(*, only: Collection[int] | None) -> None: ...", ["only: Collection[int] | None"]),
        ("def shown(archive: Annotated[int, Path(ge=1)]) -> None: ...", ["archive: Annotated[int, Path(ge=1)]"]),
        ("class Asked(BaseModel):\n    channel: Number | None = None", ["channel: Number | None"]),
        ("def show(archive: Annotated[int, typer.Argument()]) -> None: ...", []),
        ("def summary(channels: int, size: int) -> None: ...", []),
        ("def _inside(key: int) -> None: ...", []),
    ],
)
def test_the_check_sees_plain_numbers(written: str, wrong: list[str]) -> None:
    """A check that finds nothing anywhere would pass too."""
    assert list(untyped(ast.parse(written))) == wrong


def test_one_module_has_the_types_of_ids() -> None:
    """Rules and events use them too, and may not import a platform's interface."""

    def found(tree: ast.AST) -> Iterator[str]:
        calls = (node for node in nodes(tree) if isinstance(node, ast.Call) and name_of(node.func) == "NewType")
        yield from (call for call in map(ast.unparse, calls) if call.endswith(", int)"))

    paths = python_files("src")
    assert {*breaches(paths, found)} == {str(Path(ids.__file__).relative_to(ROOT))}


MIXED = """
from tidegate.archives.queries.archive_list import channel_of
from tidegate.channels.queries.channels import KnownChannel, earlier_names
from tidegate.core.ids import ArchiveId, MessageId, ReminderId
from tidegate.database.pool import Connection
from tidegate.events.kinds.archives import ArchivePreviewed
from tidegate.platforms.interface import Topic
from tidegate.reminders.queries.runs import find

async def right(connection: Connection, kept: KnownChannel, archive: ArchiveId) -> None:
    await earlier_names(connection, kept.key)
    await channel_of(connection, archive)

async def wrong(connection: Connection, kept: KnownChannel, archive: ArchiveId, reminder: ReminderId) -> None:
    await earlier_names(connection, kept.number)  # mixed up
    await channel_of(connection, kept.key)  # mixed up
    await channel_of(connection, 7)  # mixed up
    await find(connection, reminder)  # mixed up
    ArchivePreviewed(archive=kept.key, message=MessageId(1), size=1, type="")  # mixed up
    Topic(id=MessageId(1))  # mixed up
"""


def test_mypy_finds_an_id_in_the_place_of_another(tmp_path: Path) -> None:
    """What ``./dev lint`` runs is what holds the ids apart, over packages and in events."""
    program = tmp_path / "mixed.py"
    program.write_text(MIXED)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path, "--follow-imports=silent", program],
        check=False, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    lines = MIXED.splitlines()
    expected = [number for number, line in enumerate(lines, start=1) if line.endswith("# mixed up")]
    assert [int(line.split(":")[1]) for line in done.stdout.splitlines()[:-1]] == expected, done.stdout + done.stderr
