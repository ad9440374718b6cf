"""The pages people read: generated ones are up to date, names they give exist, and lines and cells are short."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.reference_pages import DOCS, PAGES

ROOT = Path(__file__).parent.parent.parent
TEXTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LINE_LENGTH = 120
WORDS_IN_A_CELL = 20
WORDS_IN_A_SENTENCE = 25


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without blocks of code."""
    inside_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            inside_code = not inside_code
        elif not inside_code:
            yield number, line


def sentences(text: str) -> Iterator[str]:
    """The sentences of the paragraphs and list items. A colon or semicolon ends one too; names in code do not count."""
    paragraphs = [""]
    for _, line in prose(text):
        if not line.strip() or line.startswith("#") or is_row(line):
            paragraphs.append("")
        elif item := re.match(r"\s*(?:[-*]|\d+\.) (.*)", line):
            paragraphs.append(item[1])
        else:
            paragraphs[-1] += f" {line.strip()}"
    for paragraph in filter(None, paragraphs):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "`", paragraph))
        yield from re.split(r"(?<=[.:;?!])[*\")]*\s+", plain)


def words(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def cells(row: str) -> list[str]:
    return re.split(r"(?<!\\)\|", row.strip().strip("|"))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = [line.lstrip("#").strip() for _, line in prose(path.read_text()) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_says_what_the_code_says(name: str) -> None:
    """A command, option or setting that changed is documented as it is now; ``./dev docs`` writes the pages."""
    assert (DOCS / name).read_text() == PAGES[name](), "run ./dev docs"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_lines_are_short(path: Path) -> None:
    """A page can be read and reviewed as plain text."""
    lines = [(number, line) for number, line in prose(path.read_text()) if not is_row(line)]
    assert [number for number, line in lines if len(line) > LINE_LENGTH] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_sentence_is_short(path: Path) -> None:
    """A reader whose first language is not English understands it at once."""
    assert [one for one in sentences(path.read_text()) if words(one) >= WORDS_IN_A_SENTENCE] == []


def test_the_check_sees_a_long_sentence() -> None:
    """In a paragraph and in a list item; neither two short ones nor a list of names in code count as one."""
    long = "word " * 24
    assert [words(one) for one in sentences(f"One. {long}\nword. Two.\n\n- {long}word")] == [1, 25, 1, 25]
    assert max(map(words, sentences(f"**{long}.** {long}\n\n| {long}word |\n\nIt has {'`x`, ' * 30}."))) == 24


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_table_cell_is_short(path: Path) -> None:
    """What needs more words than fit into a cell has a section of its own."""
    rows = [(number, line) for number, line in prose(path.read_text()) if is_row(line)]
    assert [n for n, row in rows if any(len(cell.split()) > WORDS_IN_A_CELL for cell in cells(row))] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_link_leads_somewhere(path: Path) -> None:
    """Files and headings that a page links to exist."""
    broken = []
    for target in re.findall(r"\]\((?!https?:)([^)\s]*)\)", path.read_text()):
        file, _, anchor = target.partition("#")
        there = (path.parent / file) if file else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def defined(page: str, pattern: str) -> list[str]:
    """What a page defines, in its order."""
    return re.findall(pattern, (DOCS / page).read_text(), flags=re.MULTILINE)


def sources(*folders: str) -> Iterator[str]:
    yield from (path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


INVARIANT = r"[a-z]+(?:-[a-z]+){2,}"


def cited_invariants() -> set[str]:
    """Names in lines that begin with "Invariant:", and those that begin a docstring."""
    found: set[str] = set()
    for text in sources("src", "tests", "bench"):
        for line in re.findall(r"^\s*Invariant: (.*)$", text, flags=re.MULTILINE):
            found |= set(re.findall(INVARIANT, line))
        found |= set(re.findall(rf'"""({INVARIANT})[:,]', text))
    return found


class TestInvariants:
    def test_every_name_that_is_cited_is_defined_and_every_one_defined_is_cited(self) -> None:
        """A name in a docstring leads to its meaning, and no rule stands in the page alone."""
        names = defined("invariants.md", r"^### (\S+)$")
        assert len(names) == len(set(names))
        assert cited_invariants() - set(names) == set()
        everything = "".join(sources("src", "tests"))
        assert [name for name in names if name not in everything] == []

    def test_each_names_the_test_that_holds_it(self) -> None:
        """A rule whose main test was renamed or dropped would be held by nothing."""
        names, tests = (
            defined("invariants.md", r"^### "),
            defined("invariants.md", r"^Test: `(tests/[\w/]+\.py::\w+)`$"),
        )
        assert len(names) == len(tests)
        assert [test for test in tests if test.partition("::")[2] not in functions(test.partition("::")[0])] == []


def functions(file: str) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, kinds)}


class TestScenarios:
    def test_every_id_that_tests_cite_is_listed_and_every_one_listed_is_cited(self) -> None:
        """An id in a test leads to its meaning, and whoever removes the last test of a scenario hears of it."""
        listed = defined("scenarios.md", r"^\| ([SHD]-\d\d) \|")
        assert len(listed) == len(set(listed))
        cited: set[str] = set()
        for text in sources("tests"):
            marks = re.findall(r"(?:\b([SDH])-|_([sdh]))(\d\d)(?!\d)", text)
            cited |= {f"{(written or typed).upper()}-{number}" for written, typed, number in marks}
        assert sorted(cited) == sorted(listed)


def test_the_map_leads_to_what_is_there() -> None:
    """Every module and folder that docs/map.md names exists, and every package is on it."""
    source = ROOT / "src" / "tidegate"
    named = defined("map.md", r"`([a-z_]+/[a-z_/]+(?:\.py)?)`")
    assert [path for path in named if not (source / path).exists() and not (ROOT / path).exists()] == []
    packages = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    assert packages - set(defined("map.md", r"^\| `([a-z]+)` \|")) == set()
