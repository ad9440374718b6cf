"""The files of the code base, and what each of them has that it may not have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SRC = ROOT / "src" / "tidegate"


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """A file as its tree, read once for all tests here."""
    return ast.parse(path.read_text())


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def breaches(paths: list[Path], found: Callable[[ast.AST], Iterable[str]]) -> dict[str, list[str]]:
    """What each file has that it may not have, by its name."""
    told = {named(path): sorted({*found(parsed(path))}) for path in paths}
    return {path: wrong for path, wrong in told.items() if wrong}
