"""The one place that prints: whoever writes and however, a text from outside is shown and does nothing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.hostile_text import ATTACK, OWN_CODES, QUIET_ATTACK, dangers_in
from tidegate.core import progress_bars, terminal
from tidegate.core.errors import BadInput

BEHIND_OUR_BACK = """
import gc, sys, threading, typer, warnings
from tidegate.core.terminal import guard_streams

guard_streams()
guard_streams()
attack = sys.argv[1]
print("printed", attack)
sys.stderr.writelines(["written", attack, "\\n"])
typer.echo("echoed" + attack, err=True, color=True)
warnings.warn("warned" + attack)

def fail():
    raise ValueError("failed in a thread" + attack)

thread = threading.Thread(target=fail, name=attack)
thread.start()
thread.join()

class Dying:
    def __del__(self):
        raise ValueError("failed while it was removed" + attack)

Dying()
gc.collect()
raise ValueError("failed" + attack)
"""


class TestGuard:
    @pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
    def test_what_nobody_prints_on_purpose_is_guarded_too(self, encoding: str) -> None:
        """Libraries, warnings, failures of threads and of finalizers, and Python's own last word."""
        done = subprocess.run(
            [sys.executable, "-c", BEHIND_OUR_BACK, ATTACK],
            env={**os.environ, "PYTHONIOENCODING": f"{encoding}:backslashreplace"},
            capture_output=True,
            check=False,
        )
        told = (done.stdout + done.stderr).decode(encoding)
        for word in ("printed", "written", "echoed", "warned", "in a thread", "while it was removed", "failed"):
            assert word in told
        assert dangers_in(told) == []

    def test_a_guarded_stream_offers_no_way_past_it(self) -> None:
        """A library that looks for bytes to write to finds none; what the stream is can still be asked."""
        with open(os.devnull, "w") as below:  # noqa: PTH123 - a stream as Python opens one
            guarded = terminal.GuardedStream(below)
            assert not hasattr(guarded, "buffer")
            assert (guarded.encoding, guarded.errors) == (below.encoding, below.errors)
            assert (guarded.fileno(), guarded.isatty(), guarded.writable()) == (below.fileno(), False, True)
            assert terminal.unguarded(guarded) is below


def drawn(columns: list[str], rows: list[list[object]], *, width: int = 200, important: str | None = None) -> list[str]:
    """The lines of a table at a terminal of that many columns."""
    ours, theirs = os.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    with pytest.MonkeyPatch.context() as patched, os.fdopen(theirs, "w") as out, redirect_stdout(out):
        patched.setenv("COLUMNS", str(width))
        terminal.print_table(columns, rows, empty="", important=important)
        out.flush()
        shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    return OWN_CODES.sub("", shown).splitlines()


class TestAnswers:
    def test_a_name_cannot_pass_for_a_row(self, capsys: pytest.CaptureFixture[str]) -> None:
        """In a pipe every row is one line, whatever its cells hold."""
        terminal.print_table(("title", "text"), [("shop\nforged", "one\ntwo"), ("b", ATTACK)], empty="")
        header, *lines = capsys.readouterr().out.splitlines()
        assert header.split() == ["title", "text"]
        assert lines[0].split() == [r"shop\nforged", r"one\ntwo"]
        assert len(lines) == 2
        assert dangers_in("".join(lines)) == []

    def test_a_name_cannot_pass_for_a_row_at_a_terminal(self) -> None:
        """The first cell is one line; the lines of another stay in its own column."""
        header, *lines = drawn(["title", "text"], [["shop\nforged", "one\ntwo"], ["b", ATTACK]])
        assert header.split() == ["title", "text"]
        assert [line.split() for line in lines[:2]] == [[r"shop\nforged", "one"], ["two"]]
        assert lines[1].startswith(" " * len(r"shop\nforged"))
        assert dangers_in("".join(lines)) == []

    def test_a_pipe_gets_every_cell_whole(self, capsys: pytest.CaptureFixture[str]) -> None:
        """However long the lines are, nothing is cut or wrapped; values are written for people."""
        long = "word " * 60 + "end"
        terminal.print_table(["id", "on", "text"], [[120363943963611419, True, long], [7, False, ["a", "b"]]], empty="")
        assert capsys.readouterr().out == (
            f"id                  on   text\n120363943963611419  yes  {long}\n7                   no   a, b\n"
        )

    def test_a_terminal_breaks_no_id_and_shows_every_letter(self) -> None:
        """The important column keeps its room, prose is wrapped, and columns without a value are left out."""
        rows = [["Customers 10", 120363943963611419, "", "why " * 30 + "end"]]
        lines = drawn(["title", "id", "nothing", "reason"], rows, width=60, important="title")
        assert lines[0].split() == ["title", "id", "reason"]
        assert lines[1].startswith("Customers 10  120363943963611419  why why")
        assert all(len(line) <= 60 for line in lines)
        assert " ".join(lines).count("why") == 30

    def test_a_name_cannot_pass_for_a_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Only the first line of a sentence begins at the margin."""
        terminal.say('"shop\nAll is well." is not known.')
        assert capsys.readouterr().err == '"shop\n  All is well." is not known.\n'

    def test_a_line_is_a_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Also as JSON; and a document keeps its lines."""
        terminal.print_line("a\nb")
        terminal.print_json_line({"a": "\n\x9b"})
        terminal.print_document("a\n\tb\x1b\n")
        assert capsys.readouterr().out == 'a\\nb\n{"a": "\\n\\u009b"}\na\n\tb\\x1b\n'

    def test_json_reads_back_equal(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Scripts lose nothing."""
        terminal.print_json({"title": ATTACK})
        out = capsys.readouterr().out
        assert json.loads(out) == {"title": ATTACK}
        assert dangers_in(out) == []


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of somebody who looks, whatever this one is: Rich asks for all of these."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")


def shown_at_a_terminal(show: Callable[[], None]) -> str:
    """What a terminal is shown, as standard output and error."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as stream, redirect_stdout(stream), redirect_stderr(stream):
        show()
        terminal.print_line("the end")
        told = b""
        while b"the end" not in told:
            told += os.read(ours, 1 << 16)
    os.close(ours)
    return told.decode().replace("\r\n", "\n").removesuffix("the end\n")


@pytest.mark.usefixtures("at_a_terminal")
class TestScreen:
    def test_bars_show_names_as_they_are(self) -> None:
        """Rich's mark-up in a title is text, and so is what steers a terminal."""

        def show() -> None:
            with progress_bars.progress_bars() as bars:
                assert bars is not None
                bars.move(1, f"[blink]t{QUIET_ATTACK}", 1, 3)
                bars.end(1, "", "[link=http://evil]n\x1b[8m")

        shown = shown_at_a_terminal(show)
        assert "[blink]tevil" in shown
        assert "[link=http://evil]n" in shown
        assert dangers_in(OWN_CODES.sub("", shown)) == []

    def test_a_changing_line_shows_names_as_they_are(self) -> None:
        """The demo's line at a terminal."""

        def show() -> None:
            with terminal.changing_line() as tell:
                tell(f"[blink]{ATTACK}")

        shown = shown_at_a_terminal(show)
        assert "[blink]evil" in shown
        assert dangers_in(OWN_CODES.sub("", shown)) == []

    def test_a_qr_code_is_drawn(self) -> None:
        """In blocks, whatever it stands for."""
        shown = shown_at_a_terminal(lambda: terminal.print_qr(ATTACK))
        assert "█" in shown
        assert "evil" not in shown

    def test_bytes_are_not_for_a_terminal(self) -> None:
        """A stranger's picture would be taken for commands."""

        def show() -> None:
            with pytest.raises(BadInput, match="file or a pipe"):
                terminal.print_bytes(ATTACK.encode())
            with pytest.raises(BadInput, match="is a terminal"):
                terminal.refuse_terminal(Path(os.ttyname(sys.stdout.fileno())))

        assert shown_at_a_terminal(show) == ""

    def test_files_and_pipes_take_bytes(self, tmp_path: Path) -> None:
        """Neither a file that is not there yet nor a device that shows nothing is a terminal."""
        terminal.refuse_terminal(tmp_path / "new")
        terminal.refuse_terminal(Path(os.devnull))


ASKING = """
import fcntl, sys, termios
from tidegate.core import terminal

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.exit(getattr(terminal, sys.argv[1])(sys.argv[2]) not in ("+1", None))
"""


@pytest.mark.parametrize(("how", "typed"), [("ask", "+1"), ("ask_hidden", "+1"), ("confirm", "y")])
def test_a_question_cannot_steer_the_terminal(how: str, typed: str) -> None:
    """The hint of a password and the name of an account come from outside; a hidden answer is asked for at /dev/tty."""
    ours, theirs = os.openpty()
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    process = subprocess.Popen(
        [sys.executable, "-c", ASKING, how, f"hint {ATTACK}"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"!" not in shown:  # the last character of the attack; what is typed before the question may be thrown away
        shown += os.read(ours, 1 << 16)
    os.write(ours, f"{typed}\n".encode())
    assert process.wait(60) == 0
    os.close(ours)
    assert "hint evil" in shown.decode()
    assert dangers_in(shown.decode().replace("\r\n", "\n")) == []


def test_streams_of_tests_are_left_alone() -> None:
    """What is no guarded stream has nothing below it."""
    assert terminal.unguarded(stream := io.StringIO()) is stream
