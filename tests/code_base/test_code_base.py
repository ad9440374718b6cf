"""What a linter cannot check: what pure rules may use, who reads a clock, where SQL is, what is documented."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from tests.code_base.source_files import ROOT, SRC, breaches, name_of, named, nodes, parsed, python_files, used_names
from tidegate.cli import app

PURE = {  # cronsim computes from what it is given: it reads neither a clock nor a file
    "__future__", "bisect", "collections", "collections.abc", "cronsim", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "hashlib", "ipaddress", "itertools", "json", "markupsafe", "math", "re", "string",
    "typing", "urllib.parse",
    "unicodedata", "zoneinfo", "tidegate.core.errors", "tidegate.core.ids", "tidegate.core.platform",
    "tidegate.core.account", "tidegate.core.message_content",
    "tidegate.core.platform_call",
}  # fmt: skip
SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH \w+ AS|SHOW|LOCK TABLE|LISTEN|NOTIFY)\b")
EVERY_ROW = re.compile(r"\b(at|ended_at|found_at|sent_at) [<>]=? clock_now\(\)")  # the times of tables that grow
RULES = re.compile(r"tidegate\.\w+(\.\w+)?\.rules(\.\w+)*")
IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "__import__"}
CLOCKS = re.compile(
    r"(^|\.)(datetime|date)\.(now|utcnow|today)$"
    r"|^time\.(?!sleep$)|(loop|loop\(\))\.time$|^(gmtime|localtime|monotonic|perf_counter|time_ns)$"
)
STARTS = re.compile(
    r"^subprocess\.|create_subprocess_|\.subprocess_(exec|shell)$|ProcessPoolExecutor$"
    r"|^os\.(system|popen|fork|forkpty|exec\w+|spawn\w+|posix_spawn\w*)$"
    r"|^multiprocessing\.(?!set_forkserver_preload$)|^(click|typer)\.(edit|launch|echo_via_pager)$"
)
NAMED_AFTER_NOTHING = {"utils", "util", "helpers", "helper", "manager", "managers", "base", "common", "misc", "lib"}
MODULES_A_FOLDER = 15


def imports(tree: ast.AST, *, only_from: bool = False) -> Iterator[str]:
    for node in nodes(tree):
        if isinstance(node, ast.Import) and not only_from:
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def is_rule(path: Path) -> bool:
    return "rules" in path.relative_to(ROOT).parts


class TestRules:
    def test_a_rule_waits_for_nothing_and_reads_nothing(self) -> None:
        """A rule is a function of its arguments: no await, clock, dice or IO, and only pure imports."""

        def found(tree: ast.AST) -> Iterator[str]:
            waits = (ast.Await, ast.AsyncFunctionDef, ast.AsyncWith, ast.AsyncFor)
            yield from (f"line {node.lineno} waits" for node in nodes(tree) if isinstance(node, waits))
            yield from (name for name in imports(tree) if name not in PURE and not RULES.fullmatch(name))
            yield from (name for name in used_names(tree) if CLOCKS.search(name) or name in IMPURE_CALLS)

        rules = [path for path in python_files("src") if is_rule(path)]
        assert len(rules) > 30
        assert breaches(rules, found) == {}

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
    def test_only_the_clock_module_reads_a_clock(self) -> None:
        """Time is given, so that a test can hold it. Log lines alone are stamped by the logging library."""

        def found(tree: ast.AST) -> Iterator[str]:
            yield from (name for name in used_names(tree) if CLOCKS.search(name))
            yield from (name for name in imports(tree, only_from=True) if name == "time")

        assert breaches([path for path in python_files("src") if path != SRC / "core" / "clock.py"], found) == {}


class TestPatience:
    def test_a_deadline_that_only_guards_is_long(self) -> None:
        """A test that waits takes ``tests.waiting.PATIENCE``: a busy machine is slow, and slow is not wrong.

        A client of HTTP that is told nothing waits for five seconds.
        """

        def found(tree: ast.AST) -> Iterator[str]:
            calls = [node for node in nodes(tree) if isinstance(node, ast.Call)]
            for call in (call for call in calls if isinstance(call.func, ast.Attribute)):
                guards = call.func.attr in ("timeout", "wait_for") and isinstance(call.args[-1], ast.Constant)
                asks = call.func.attr.endswith("Client") and ast.unparse(call.func.value) == "httpx"
                text = ast.unparse(call) if guards or asks else ""
                if (asks and not re.search(r"PLAIN|timeout=|ASGITransport", text)) or text.startswith("asyncio."):
                    yield f"line {call.lineno}: {text}"

        assert breaches(python_files("tests"), found) == {}


class TestFixtures:
    def test_a_fixture_lives_for_one_test_or_for_all(self) -> None:
        """A process may come back to a module after tests of others, so what lives for a module is made again."""

        def found(tree: ast.AST) -> Iterator[str]:
            for call in (node for node in nodes(tree) if isinstance(node, ast.Call)):
                scopes = {ast.unparse(word.value) for word in call.keywords if word.arg == "scope"}
                if scopes - {"'session'"} and ast.unparse(call.func) == "pytest.fixture":
                    yield f"line {call.lineno}: {ast.unparse(call)}"

        assert breaches(python_files("tests"), found) == {}


class TestDatabase:
    def test_sql_is_written_in_queries_alone(self) -> None:
        """One place a subject to look at every statement. The database itself and its maintenance are about SQL."""

        def found(tree: ast.AST) -> Iterator[str]:
            for node in nodes(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value):
                    yield f"line {node.lineno}: {node.value.split()[0]}"

        elsewhere = ("database", "maintenance", "loopback", "demo")
        others = [
            path
            for path in python_files("src")
            if "queries" not in path.parts and path.relative_to(SRC).parts[0] not in elsewhere
        ]
        assert breaches(others, found) == {}

    def test_a_range_of_time_is_asked_for_by_index(self) -> None:
        """``at > clock_now()`` reads every row, as the server calls the clock for each; a sub-select is asked once."""

        def found(tree: ast.AST) -> Iterator[str]:
            for node in nodes(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and EVERY_ROW.search(node.value):
                    yield f"line {node.lineno}"

        assert breaches([path for path in python_files("src") if "queries" in path.parts], found) == {}


PRINTS = re.compile(
    r"^(print|input|breakpoint)$|^(typer|click)\.(echo|secho|echo_via_pager|progressbar|confirm|prompt|pause|clear)$"
    r"|^traceback\.print_|^(rich|getpass|pprint)(\.|$)|(^|\.)([Cc]onsole|unguarded)(\.|$)"
    r"|^sys\.(__stdout__|__stderr__|displayhook|excepthook)"
    r"|^sys\.(stdout|stderr)(?!\.(isatty|fileno|flush)$)"
)
MAY_PRINT = {
    SRC / "core" / "terminal.py": "the one place that prints",
    SRC / "core" / "progress_bars.py": "draws bars through the guarded console of ``core.terminal``",
    SRC / "app" / "logs.py": "the one place that logs",
    SRC / "core" / "sandbox" / "child_limits.py": "its standard output is a pipe to its parent",
}


def printing(tree: ast.AST) -> list[str]:
    """What a module uses to write to the terminal by itself."""
    below = {node.value for node in nodes(tree) if isinstance(node, ast.Attribute)}
    whole = [node for node in nodes(tree) if isinstance(node, ast.Attribute | ast.Name) and node not in below]
    taken = [
        f"{node.module}.{name.name}" for node in nodes(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    ]
    return sorted({name for name in (*map(name_of, whole), *imports(tree), *taken) if PRINTS.search(name)})


class TestPrinting:
    def test_only_one_place_prints(self) -> None:
        """Text from outside reaches a terminal through ``core`` alone, so that no command can forget."""
        paths = [path for path in python_files("src") if path not in MAY_PRINT]
        assert breaches(paths, printing) == {}

    @pytest.mark.parametrize(
        "source",
        [
            "print(title)", "typer.echo(title)", "click.secho(title)", "sys.stdout.write(title)",
            "from rich import print", "sys.stderr.buffer.write(title)", "print(title, file=log)", "show(sys.stderr)",
            "console.print(title)", "rich.console.Console().print(title)", "from sys import stdout",
            "from typer import echo", "from tidegate.core.terminal import unguarded", "out = sys.stdout",
            "sys.__stdout__.write(title)", "import getpass", "traceback.print_exc()", "input(title)",
        ],
    )  # fmt: skip
    def test_the_check_sees_a_module_that_prints(self, source: str) -> None:
        """Each way to forget."""
        assert printing(ast.parse(source))

    def test_the_check_lets_a_module_look(self) -> None:
        """Whether somebody reads may be asked anywhere."""
        source = "sys.stdout.isatty(); sys.stdout.fileno(); sys.stdout.flush(); terminal.print_line(x)"
        assert printing(ast.parse(source)) == []


NAMES_A_PLATFORM = re.compile("telegram|discord|whatsapp", re.IGNORECASE)


def words_of(tree: ast.AST, *, docstrings_too: bool = False) -> Iterator[str]:
    """Every name and every text of a module, without its docstrings unless they are help texts."""
    docstrings = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr) and not docstrings_too}
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


class TestPlatforms:
    def test_a_platform_knows_no_database_and_no_lane(self) -> None:
        """An adapter translates; whoever calls it gives it what it needs."""
        may_use = ("tidegate.core", "tidegate.platforms")
        paths = python_files("src/tidegate/platforms")
        found = breaches(paths, lambda tree: [n for n in imports(tree) if n.startswith("tidegate.")])
        assert {path: names for path, names in found.items() if not all(n.startswith(may_use) for n in names)} == {}

    def test_a_platform_is_asked_for_what_it_can_do_not_for_its_name(self) -> None:
        """A fourth platform needs no change outside its own folder, its registration and the migrations."""
        may_name = ("app", "platforms", "loopback", "demo", "database/migrations", "cli/demo")
        of_one_platform = {
            "src/tidegate/accounts/queries/whatsapp_sessions.py": "the role and the schema of WhatsApp's library",
            "src/tidegate/database/embedded/server_access.py": "the same role on the embedded server",
        }
        paths = [path for path in python_files("src/tidegate") if not str(path.relative_to(SRC)).startswith(may_name)]
        help_texts = [path for path in paths if path.is_relative_to(SRC / "cli")]
        found = breaches(paths, lambda tree: filter(NAMES_A_PLATFORM.search, words_of(tree)))
        found |= breaches(help_texts, lambda tree: filter(NAMES_A_PLATFORM.search, words_of(tree, docstrings_too=True)))
        assert {path: names for path, names in found.items() if path not in of_one_platform} == {}
        modules = [str(path.relative_to(ROOT)) for path in paths if NAMES_A_PLATFORM.search(path.name)]
        assert [path for path in modules if path not in of_one_platform] == []

    @pytest.mark.parametrize(
        "source",
        [
            "def f():\n    'Of all.'\n    return 'Scan this with WhatsApp.'", "import x as WHATSAPP", "telegram = 1",
            "def discord_times(): ...", "f(whatsapp=1)", "def f(whatsapp): ...", "from a.discord import c", "x.discord",
        ],
    )  # fmt: skip
    def test_the_check_sees_a_platforms_name(self, source: str) -> None:
        """In what people read, in names and in imports; docstrings may give examples."""
        assert [word for word in words_of(ast.parse(source)) if NAMES_A_PLATFORM.search(word)]
        assert not [word for word in words_of(ast.parse('"""As on Discord."""')) if NAMES_A_PLATFORM.search(word)]

    def test_a_command_that_needs_no_platform_loads_none(self) -> None:
        """Their libraries take longer to load than most commands take to run."""
        program = """
import sys, tidegate.app.composition, tidegate.cli, tidegate.history.channel_documents
print(sorted({"telethon", "discord", "neonize"} & {*sys.modules}))
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"


class TestChildren:
    def test_only_one_module_starts_processes(self) -> None:
        """It gives each an environment of its own; whatever starts one elsewhere would give it all our secrets."""
        constants = {"DEVNULL", "PIPE", "CalledProcessError", "CompletedProcess", "Process", "ForkServerProcess"}

        def found(tree: ast.AST) -> Iterator[str]:
            yield from (name for name in used_names(tree) if STARTS.search(name))
            yield from (name for name in imports(tree) if name in ("pty", "webbrowser", "_posixsubprocess"))
            for node in nodes(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(("subprocess", "multiprocessing")):
                    yield from {name.name for name in node.names} - constants

        assert breaches([path for path in python_files("src") if path.name != "child_process.py"], found) == {}

    def test_the_check_sees_what_it_forbids(self) -> None:
        """And lets others pass."""
        for starting in (
            "subprocess.run", "subprocess.Popen", "asyncio.create_subprocess_exec", "loop.subprocess_shell",
            "os.system", "os.execv", "os.spawnl", "os.posix_spawn", "os.fork", "os.popen", "multiprocessing.Process",
            "multiprocessing.get_context", "ProcessPoolExecutor", "concurrent.futures.ProcessPoolExecutor",
            "click.edit", "click.launch", "typer.launch", "click.echo_via_pager",
        ):  # fmt: skip
            assert STARTS.search(starting), starting
        for harmless in ("child_process.run", "multiprocessing.set_forkserver_preload", "asyncio.run", "edited_text"):
            assert not STARTS.search(harmless), harmless


class TestBenchmarks:
    def test_every_benchmark_can_be_loaded(self) -> None:
        """A name that moved would otherwise be missed until somebody measures."""
        modules = [f"bench.{path.stem}" for path in python_files("bench") if not path.stem.startswith("__")]
        program = f"import importlib\nfor name in {modules}: importlib.import_module(name)"
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


class TestFiles:
    def test_a_module_is_named_after_something(self) -> None:
        """A module named after nothing collects everything."""
        paths = python_files("src", "bench")
        assert [named(path) for path in paths if {path.stem, path.parent.name} & NAMED_AFTER_NOTHING] == []

    def test_a_folder_can_be_taken_in_at_a_glance(self) -> None:
        """One with more modules wants packages by subject. Steps of the schema only ever grow."""
        folders = Counter(path.parent for path in python_files("src") if path.name != "__init__.py")
        full = {named(folder): many for folder, many in folders.items() if many > MODULES_A_FOLDER}
        assert [folder for folder in full if not folder.endswith("migrations/versions")] == []

    def test_a_public_class_has_a_name_of_its_own(self) -> None:
        """One word, one meaning. Loopback platforms use the words of the platform they stand for."""
        named: dict[str, list[str]] = {}
        for path in python_files("src"):
            if not path.is_relative_to(SRC / "loopback"):
                for node in nodes(parsed(path)):
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        named.setdefault(node.name, []).append(str(path.relative_to(SRC)))
        assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}

    def test_every_test_states_its_promise(self) -> None:
        """A docstring says which promise breaks when the test does."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)

        def found(tree: ast.AST) -> Iterator[str]:
            tests = [node for node in nodes(tree) if isinstance(node, functions)]
            for test in tests:
                if test.name.startswith("test_") and not ast.get_docstring(test) and not _is_fixture(test.name, tests):
                    yield test.name

        assert breaches(python_files("tests"), found) == {}

    def test_no_module_imports_a_test_module(self) -> None:
        """What tests share has a module of its own, so that a test can be changed without looking at others."""

        def found(tree: ast.AST) -> Iterator[str]:
            taken = [node for node in nodes(tree) if isinstance(node, ast.ImportFrom)]
            names = [f"{node.module}.{name.name}" for node in taken for name in node.names]
            yield from (name for name in (*imports(tree), *names) if re.match(r"tests\.([a-z_]+\.)*test_", name))

        assert [*found(ast.parse("from tests.web import test_web"))] == ["tests.web.test_web"]
        assert breaches(python_files("tests", "bench", "tools"), found) == {}

    def test_a_program_in_a_text_imports_what_is_there(self) -> None:
        """Neither a tool that renames nor mypy sees it, and a test that waits for such a program only times out."""

        def found(tree: ast.AST) -> Iterator[str]:
            texts = [n.value for n in nodes(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            for module, names in re.findall(r"(?m)^\s*from (tidegate[\w.]*) import ([\w, ]+)", "\n".join(texts)):
                for name in (one.split()[0] for one in names.split(",")):
                    if not is_importable(module, name):
                        yield f"{module}: {name}"

        assert not is_importable("tidegate.core", "nowhere")
        assert not is_importable("tidegate.nowhere", "clock")
        assert breaches(python_files("src", "tests", "bench"), found) == {}

    @pytest.mark.parametrize("name", ["main", "dev", "peers"])
    def test_requirements_are_hashed_and_name_no_address(self, name: str) -> None:
        """What is installed is what was locked, from whichever registry the machine is set up with."""
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        packages = re.findall(r"^[a-z0-9][^\n]*==", text, flags=re.MULTILINE)
        assert packages
        assert len(re.findall(r"^[a-z0-9].*(?:\\\n.*--hash=sha256:)", text, flags=re.MULTILINE)) == len(packages)
        assert "://" not in text

    def test_packages_of_npm_are_pinned_by_integrity(self) -> None:
        """A line has name, version and integrity, and no address."""
        lines = (ROOT / "requirements" / "peers-npm.txt").read_text().splitlines()
        assert lines
        assert [line for line in lines if not re.fullmatch(r"[a-z-]+ [0-9.]+ sha512-[A-Za-z0-9+/]{86}==", line)] == []


def is_importable(module: str, name: str) -> bool:
    """Whether ``from module import name`` works."""
    try:
        return hasattr(importlib.import_module(module), name) or bool(find_spec(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False


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
    def test_every_command_says_what_it_does(self) -> None:
        """`--help` of each ends its first line as a sentence."""
        told = {command: (text or "").strip().split("\n")[0] for command, text in commands().items()}
        assert [command for command, line in told.items() if not line.endswith(".")] == []
