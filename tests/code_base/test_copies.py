"""Nothing is written twice: no six lines of the sources stand in two places."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.code_base.source_files import nodes, tree_of

SRC = Path(__file__).parent.parent.parent / "src" / "tidegate"
RUN = 6
SKIPPED = re.compile(r"#.*|\W*|@\w+")
"""Comments, lone punctuation and plain decorators."""


def copied_runs(texts: dict[str, str]) -> dict[str, list[str]]:
    """Six lines in a row that stand in several places, by the place of the first of them."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, text in texts.items():
        lines = list(_lines(text, _imports(text) if name.endswith(".py") else set()))
        for first in range(len(lines) - RUN + 1):
            run = lines[first : first + RUN]
            places[tuple(line for _, line in run)].append(f"{name}:{run[0][0]}")
    return {found[0]: found[1:] for found in places.values() if len(found) > 1}


def _imports(text: str) -> set[int]:
    imports = [node for node in nodes(tree_of(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {number for node in imports for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _lines(text: str, skipped: set[int]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        folded = " ".join(line.split())
        if number not in skipped and not SKIPPED.fullmatch(folded):
            yield number, folded


def test_no_six_lines_stand_in_two_places() -> None:
    """What is written twice is changed once, and then wrong in the other place. Schema steps stay as they are."""
    paths = [path for kind in ("*.py", "*.html") for path in sorted(SRC.rglob(kind)) if "versions" not in path.parts]
    assert copied_runs({str(path.relative_to(SRC)): path.read_text() for path in paths}) == {}


def test_the_check_sees_a_copy() -> None:
    """Whatever its indent, and whatever comments and blank lines stand between; but not five lines, nor imports."""
    lines = [f"step_{number}(value)" for number in range(RUN)]
    copy = "\n\n# why\n".join(f"  {line}" for line in lines)
    assert copied_runs({"a.html": "\n".join(lines), "b.html": copy}) == {"a.html:1": ["b.html:1"]}
    assert copied_runs({"a.html": "\n".join(lines[1:]), "b.html": copy}) == {}
    imported = "from a import (\n" + "".join(f"    name_{number},\n" for number in range(9)) + ")\n"
    assert copied_runs({"a.py": imported, "b.py": imported}) == {}
