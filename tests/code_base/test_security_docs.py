"""docs/security.md names for each promise the test that holds it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def named_in(path: Path) -> set[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, functions)}


def test_every_test_that_is_named_exists() -> None:
    """A promise whose test was renamed or dropped would be held by nothing."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "security.md").read_text())
    assert len(named) > 20
    missing = [
        f"{file}::{test}" for file, test in named if not (ROOT / file).exists() or test not in named_in(ROOT / file)
    ]
    assert missing == []
