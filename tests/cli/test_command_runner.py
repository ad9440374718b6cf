"""What every command promises: sentences, exit codes, a clean stdout, and a quick --help."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from tests.cli.program import TIDEGATE, environment, program, tidegate
from tidegate import __version__
from tidegate.cli import command_runner
from tidegate.cli.error_messages import explain
from tidegate.core import terminal
from tidegate.core.errors import BadInput, NothingToDo, TidegateError
from tidegate.database.pool import Address


class TestProgram:
    def test_it_says_its_version(self, tmp_path: Path) -> None:
        """`tidegate --version` is one line on stdout."""
        done = program("--version", home=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"tidegate {__version__}\n", "")

    @pytest.mark.parametrize("arguments", [["nonsense"], ["settings", "--nonsense"], ["settings", "extra"]])
    def test_bad_usage_ends_with_2(self, arguments: list[str], tmp_path: Path) -> None:
        """What the command line does not know is bad input: a sentence on stderr, nothing on stdout."""
        done = tidegate(*arguments, home=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Error: " in done.stderr

    def test_help_starts_without_the_heavy_parts(self) -> None:
        """A person who asks for help waits for no database driver and no web server."""
        heavy = {
            "asyncpg",
            "cryptography",
            "fastapi",
            "prometheus_client",
            "pydantic",
            "uvicorn",
        }
        code = "import sys, tidegate.cli; print(*sorted(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert heavy & set(done.stdout.split()) == set()

    def test_a_bad_setting_starts_nothing(self, tmp_path: Path) -> None:
        """One sentence, exit code 2, and not even the data folder is made."""
        home = tmp_path / "home"
        done = subprocess.run(
            [TIDEGATE, "web"], env=environment(home, TIDEGATE_SEATS="0"), capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr == "TIDEGATE_SEATS cannot be '0': it must be a whole number of 1 or more.\n"
        assert not home.exists()

    def test_an_unknown_variable_is_mentioned(self, tmp_path: Path) -> None:
        """A misspelt variable is said on stderr; stdout stays the answer alone."""
        done = tidegate("settings", "--json", home=tmp_path, TIDEGATE_TIME_OUTT="3s")
        assert done.returncode == 0
        assert "TIDEGATE_TIME_OUTT is not a setting" in done.stderr
        assert json.loads(done.stdout)

    def test_a_reader_that_went_away_is_no_traceback(self, tmp_path: Path) -> None:
        """`tidegate settings | head -1` ends quietly."""
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [TIDEGATE, "settings"],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, b"")


class TestRun:
    @pytest.mark.parametrize(
        ("problem", "code"),
        [(TidegateError("It failed."), 1), (BadInput("It is wrong."), 2), (NothingToDo("Nothing."), 3)],
    )
    def test_our_errors_are_their_sentence_and_exit_code(
        self, problem: TidegateError, code: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The contract's exit codes: 1 the work failed, 2 bad input, 3 nothing to do."""

        async def work() -> None:
            raise problem

        with pytest.raises(SystemExit) as ended:
            command_runner.run(work)
        assert ended.value.code == code
        assert capsys.readouterr().err == f"{problem}\n"

    def test_work_may_be_a_coroutine_or_a_plain_function(self) -> None:
        """A command hands over whatever its work is."""
        done: list[str] = []

        async def work() -> None:
            done.append("async")

        command_runner.run(work())
        command_runner.run(work)
        command_runner.run(lambda: done.append("plain"))
        assert done == ["async", "async", "plain"]

    def test_an_interrupt_ends_quietly_with_130(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Ctrl-C is no failure to explain."""

        def work() -> None:
            raise KeyboardInterrupt

        with pytest.raises(SystemExit) as ended:
            command_runner.run(work)
        assert ended.value.code == 130
        assert capsys.readouterr() == ("", "")

    def test_what_nobody_expected_says_where_and_how_to_see_more(self, capsys: pytest.CaptureFixture[str]) -> None:
        """No traceback, and not the error's own text either: it may hold anything."""

        def work() -> None:
            raise KeyError("hunter2")

        with pytest.raises(SystemExit) as ended:
            command_runner.run(work)
        said = capsys.readouterr().err
        assert ended.value.code == 1
        assert "KeyError at" in said
        assert "command_runner.py line" in said
        assert "TIDEGATE_DEBUG=1" in said
        assert "Traceback" not in said
        assert "hunter2" not in said

    def test_debugging_shows_the_traceback(self, tmp_path: Path) -> None:
        """TIDEGATE_DEBUG=1 logs it on stderr, before the sentence."""
        code = "from tidegate.cli import command_runner; command_runner.run(lambda: {}['hunter2'])"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(tmp_path, TIDEGATE_DEBUG="1"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" in done.stderr
        assert "KeyError" in done.stderr


class TestSentences:
    @pytest.mark.parametrize(
        ("number", "said"),
        [
            (errno.EADDRINUSE, "in use already"),
            (errno.ENOSPC, "disk is full"),
            (errno.EDQUOT, "disk is full"),
            (errno.EACCES, "may not"),
            (errno.EROFS, "may not"),
            (errno.ECONNREFUSED, "does not answer"),
            (errno.EIO, "operating system refused"),
        ],
    )
    def test_the_machines_refusals_are_sentences(self, number: int, said: str) -> None:
        """Each family names the file when it has one, and what to do."""
        failure = explain(OSError(number, os.strerror(number), "/some/file"))
        assert said in failure.sentence
        assert "/some/file" in failure.sentence
        assert failure.sentence.endswith(".")
        assert failure.exit_code == 1

    def test_a_full_disk_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A real write to a full device, not a made-up error."""

        def work() -> None:
            with Path("/dev/full").open("w") as full:
                full.write("x")

        with pytest.raises(SystemExit):
            command_runner.run(work)
        assert "The disk is full" in capsys.readouterr().err

    def test_our_own_sentence_wins_inside_a_group(self) -> None:
        """Tasks that fail together are explained by the one that knows why."""
        group = ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("inner", [BadInput("It is wrong.")])])
        assert explain(group).sentence == "It is wrong."
        assert explain(group).exit_code == 2

    async def test_a_lost_database_connection_is_said(self, address: Address) -> None:
        """A session that the server ended in mid-work, on a real server; then what comes after on the same session."""
        connection = await asyncpg.connect(address.direct)
        with pytest.raises(asyncpg.PostgresError) as lost:
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        assert explain(lost.value).sentence.startswith("The connection to the database was lost")
        with pytest.raises(asyncpg.InterfaceError) as closed:
            await connection.execute("SELECT 1")
        assert explain(closed.value).sentence.startswith("The database connection could not be used")

    def test_a_value_the_database_refuses_is_not_called_a_lost_connection(self) -> None:
        """A fault of ours must not send the operator to the network."""
        assert "DataError" in explain(asyncpg.DataError("invalid input")).sentence
        assert "did not expect" in explain(asyncpg.UniqueViolationError("x")).sentence


class TestAnswers:
    def test_json_is_one_document_as_it_is(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Scripts read stdout whole; letters of every alphabet stay themselves."""
        terminal.print_json([{"name": "čajovna", "at": None}])
        out = capsys.readouterr().out
        assert json.loads(out) == [{"name": "čajovna", "at": None}]
        assert "čajovna" in out

    def test_a_table_shows_brackets_as_they_are(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Names come from strangers: Rich's mark-up in them is text."""
        terminal.print_table(("name", "pace"), [("[red]x[/red]", None)], empty="None yet.")
        assert "[red]x[/red]" in capsys.readouterr().out

    def test_an_empty_table_says_what_to_do_next(self, capsys: pytest.CaptureFixture[str]) -> None:
        """No bare header, and nothing on stdout."""
        terminal.print_table(("name",), [], empty="No account yet; add one with: tidegate account add")
        assert capsys.readouterr() == ("", "No account yet; add one with: tidegate account add\n")


def test_what_is_loaded_is_looked_at_by_no_later_collection() -> None:
    """A full collection over all modules takes longer than anything may hold the loop."""
    asked = (
        "import gc, tidegate.web; from tidegate.cli import command_runner; command_runner.exempt_from_collection(); "
    )
    counted = "print(gc.get_freeze_count() > 50_000, len(gc.get_objects()) < 5_000)"
    done = subprocess.run([sys.executable, "-c", asked + counted], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"
