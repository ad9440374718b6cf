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
    return tree_of(path.read_text())


@cache
def tree_of(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree, collected once for all tests here: that takes longer than most of them."""
    return tuple(ast.walk(tree))


@cache
def used_names(tree: ast.AST) -> tuple[str, ...]:
    """What a tree reads, with the names it is reached by, such as ``asyncio.sleep``."""
    return tuple(name_of(node) for node in nodes(tree) if isinstance(node, ast.Attribute | ast.Name))


def name_of(node: ast.expr) -> str:
    """An expression as it is written; most are a name, or a name of one, which needs no work."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ast.unparse(node)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def breaches(paths: list[Path], found: Callable[[ast.AST], Iterable[str]]) -> dict[str, list[str]]:
    """What each file has that it may not have, by its name."""
    told = {named(path): sorted({*found(parsed(path))}) for path in paths}
    return {path: wrong for path, wrong in told.items() if wrong}
