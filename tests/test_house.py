"""The rules of the house that a linter cannot know: what rules may use, who reads a clock, what is documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tidegate.cli import app
from tidegate.settings import Settings
from tidegate.sources import allowed, shown, variables

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "tidegate"

PURE = {  # cronsim computes from what it is given: it reads neither a clock nor a file
    "__future__", "bisect", "collections", "collections.abc", "cronsim", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "hashlib", "itertools", "math", "re", "typing", "unicodedata", "zoneinfo",
    "tidegate.errors", "tidegate.words",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "__import__"}
CLOCKS = re.compile(
    r"(^|\.)(datetime|date)\.(now|utcnow|today)$"
    r"|^time\.(?!sleep$)|(loop|loop\(\))\.time$|^(gmtime|localtime|monotonic|perf_counter|time_ns)$"
)
PLATFORMS_MAY_USE = ("clock", "errors", "frames", "platforms", "port", "rules", "words")
NAMED_AFTER_NOTHING = {
    "utils",
    "util",
    "helpers",
    "helper",
    "manager",
    "managers",
    "base",
    "common",
    "core",
    "misc",
    "lib",
}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def used_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            yield ast.unparse(node)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


class TestRules:
    @pytest.mark.parametrize("path", python_files("src/tidegate/rules"), ids=named)
    def test_a_rule_waits_for_nothing_and_reads_nothing(self, path: Path) -> None:
        """Law 10: a rule is a function of its arguments; no await, clock, dice or IO, and only pure imports."""
        tree = ast.parse(path.read_text())
        waits = [node for node in ast.walk(tree) if isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncWith)]
        assert waits == []
        assert {name for name in imports(tree) if name not in PURE and not name.startswith("tidegate.rules")} == set()
        assert {name for name in used_names(tree) if CLOCKS.search(name) or name in IMPURE_CALLS} == set()

    def test_the_check_sees_what_it_forbids(self) -> None:
        """A check that finds nothing anywhere would pass too."""
        for reading in (
            "datetime.now",
            "datetime.datetime.now",
            "date.today",
            "time.time",
            "time.monotonic",
            "loop.time",
        ):
            assert CLOCKS.search(reading), reading
        for harmless in ("clock.now", "self._clock.now", "row.now", "time.sleep", "datetime.combine", "message.time"):
            assert not CLOCKS.search(harmless), harmless


class TestClock:
    @pytest.mark.parametrize("path", [path for path in python_files("src") if path != SRC / "clock.py"], ids=named)
    def test_only_the_clock_module_reads_a_clock(self, path: Path) -> None:
        """Law 10: time is given, so that a test can hold it. Log lines alone are stamped by the logging library."""
        tree = ast.parse(path.read_text())
        assert [name for name in used_names(tree) if CLOCKS.search(name)] == []
        assert [
            node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "time"
        ] == []


class TestPlatforms:
    @pytest.mark.parametrize(
        "path",
        [path for path in python_files("src") if path.parent.name != "cli" and path != SRC / "openings.py"],
        ids=named,
    )
    def test_only_the_openings_name_a_platform(self, path: Path) -> None:
        """Everybody else asks through the port; an adapter itself knows no store and no lane."""
        found = {name for name in imports(ast.parse(path.read_text())) if name.startswith("tidegate.")}
        if path.is_relative_to(SRC / "platforms"):
            assert {name for name in found if name.split(".")[1] not in PLATFORMS_MAY_USE} == set()
        else:
            assert {name for name in found if name.startswith("tidegate.platforms")} == set()

    def test_a_command_that_needs_no_platform_loads_none(self) -> None:
        """Their libraries take longer to load than most commands take to run."""
        program = """
import sys, tidegate.app, tidegate.cli, tidegate.shapes.channels
print(sorted({"telethon", "discord", "neonize"} & {*sys.modules}))
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"


class TestFiles:
    @pytest.mark.parametrize("path", python_files("src", "bench"), ids=named)
    def test_a_module_is_short_and_named_after_something(self, path: Path) -> None:
        """A module above 300 lines has two subjects; one named after nothing collects everything."""
        assert len(path.read_text().splitlines()) <= 300
        assert path.stem not in NAMED_AFTER_NOTHING
        assert path.parent.name not in NAMED_AFTER_NOTHING

    @pytest.mark.parametrize("path", python_files("tests"), ids=named)
    def test_every_test_states_its_promise(self, path: Path) -> None:
        """A docstring says which law or promise breaks when the test does."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        tests = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, functions)]
        silent = [test.name for test in tests if test.name.startswith("test_") and not ast.get_docstring(test)]
        assert [name for name in silent if not _is_fixture(name, tests)] == []

    @pytest.mark.parametrize("name", ["main", "dev"])
    def test_requirements_are_hashed_and_name_no_address(self, name: str) -> None:
        """What is installed is what was locked, from whichever registry the machine is set up with."""
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        packages = re.findall(r"^[a-z0-9][^\n]*==", text, flags=re.MULTILINE)
        assert packages
        assert len(re.findall(r"^[a-z0-9].*(?:\\\n.*--hash=sha256:)", text, flags=re.MULTILINE)) == len(packages)
        assert "://" not in text


def _is_fixture(name: str, functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> bool:
    """A fixture may be called test_folder."""
    decorators = [ast.unparse(mark) for node in functions if node.name == name for mark in node.decorator_list]
    return any(mark.startswith("pytest.fixture") for mark in decorators)


def commands() -> dict[str, str | None]:
    """Every command as it is typed, with its help text."""
    found: dict[str, str | None] = {}

    def collect(command: object, typed: str) -> None:
        inner = getattr(command, "commands", None)
        for name, below in (inner or {}).items():
            collect(below, f"{typed} {name}")
        if inner is None:
            found[typed] = getattr(command, "help", None)

    collect(typer.main.get_command(app), "tidegate")
    return found


class TestDocumentation:
    @pytest.mark.parametrize("name", Settings.model_fields)
    def test_every_setting_is_documented_as_it_is(self, name: str) -> None:
        """docs/settings.md gives each setting's default, what is allowed and the meaning the program itself shows."""
        text = (ROOT / "docs" / "settings.md").read_text()
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        _, _, default, may_be, meaning, _ = (cell.strip() for cell in row.split("|"))
        assert (may_be, meaning) == (allowed(name), Settings.model_fields[name].description)
        if name not in ("home", "worker_name"):  # these depend on the machine, and the page says how
            value = shown(getattr(Settings(), name))
            assert default == ("not set" if value is None else f"`{str(value).replace('True', 'true')}`")
        for alias in variables(name)[1:]:
            assert f"| `{alias.name}` | `{name}`" in text

    def test_the_settings_page_names_no_other(self) -> None:
        """A setting that is gone is gone from the page."""
        text = (ROOT / "docs" / "settings.md").read_text()
        rows = re.findall(r"^\| `([a-z_]+)` \|", text, flags=re.MULTILINE)
        assert rows == list(Settings.model_fields)

    @pytest.mark.parametrize("command", commands())
    def test_every_command_is_documented(self, command: str) -> None:
        """docs/commands.md has each command as an operator types it."""
        assert f"`{command}" in (ROOT / "docs" / "commands.md").read_text()

    @pytest.mark.parametrize("command", commands())
    def test_every_command_says_what_it_does(self, command: str) -> None:
        """`--help` of each ends its first line as a sentence."""
        assert (commands()[command] or "").strip().split("\n")[0].endswith("."), command
