"""What child processes of a running Tidegate are told: enough to do their work, and none of its secrets."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.account_commands import add_whatsapp, control
from tests.cli.program import TIDEGATE, environment
from tests.servers import free_port, make_home
from tests.waiting import until
from tests.web.demo import living
from tidegate.archives.formats.sandbox import ContentsSandbox
from tidegate.cli.reminders.text_editor import edited_text
from tidegate.core import child_process
from tidegate.core.errors import TidegateError

__all__ = ["control"]  # a fixture

SECRETS = {
    "TIDEGATE_TELEGRAM_API_HASH": "s3cret-api-hash",
    "TIDEGATE_TELEGRAM_API_ID": "7",
    "DATABASE_DIRECT_URL": "postgresql://me:s3cret-address@db/x",
    "PGPASSWORD": "s3cret-password",
    "PGPASSFILE": "/s3cret-passfile",
    "AWS_SECRET_ACCESS_KEY": "s3cret-of-another-program",
    "HTTPS_PROXY": "http://me:s3cret-proxy@127.0.0.1:9",
}
OF_PYTHON = {"PYTHONPATH", "PYTHONSAFEPATH", "COVERAGE_PROCESS_CONFIG"}
NAMES = {*child_process.SYSTEM, *child_process.NETWORK, *OF_PYTHON, "PWD"}
OF_POSTGRESQL = {"PGLOCALEDIR", "PGSYSCONFDIR", "PG_GRANDPARENT_PID", "PGDATA"}  # set by its own programs


def parents() -> dict[int, int]:
    """Every process of the machine and who started it."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            number, _, rest = entry.read_text().partition(" (")
            found[int(number)] = int(rest.rpartition(")")[2].split()[1])
    return found


def descendants(*roots: int) -> Iterator[int]:
    """All processes that these started, and what those started."""
    known = parents()
    reached = set(roots)
    while more := {pid for pid, parent in known.items() if parent in reached} - reached:
        yield from more
        reached |= more


def variables_of(pid: int) -> dict[str, str]:
    raw = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    return dict(entry.split("=", 1) for entry in raw.split("\0") if "=" in entry)


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def children_told(*roots: int) -> dict[str, dict[str, str]]:
    """What every child of these processes was told, by its command.

    One that just ended is passed over, and one that is only about to become another program: it still looks like us.
    """
    found = {}
    ours = [command_of(root) for root in roots if "postgres" not in command_of(root)]
    for pid in descendants(*roots):
        with suppress(OSError):
            if (command := command_of(pid)) not in ours:
                found[f"{pid} {command}"] = variables_of(pid)
    return found


def assert_no_secrets(told: dict[str, dict[str, str]], *, key: str) -> None:
    for command, variables in told.items():
        for name, value in variables.items():
            assert name in NAMES | OF_POSTGRESQL, f"{name} reached {command}"
            assert key not in value, command
            assert "s3cret" not in value or name == "HTTPS_PROXY", f"{name} reached {command}"
        if "whatsapp" not in command:
            assert "HTTPS_PROXY" not in variables, command


async def test_no_secret_reaches_a_child_of_serve(empty_home: Path, control: str) -> None:
    """PostgreSQL's processes and WhatsApp's: read where anybody of the same user could read it."""
    await add_whatsapp(empty_home, control)
    key = (empty_home / "secret.key").read_text().splitlines()[1]
    given = environment(empty_home, **SECRETS, TIDEGATE_KEY=key, TIDEGATE_WEB_PORT=str(free_port()))
    serving = await asyncio.create_subprocess_exec(TIDEGATE, "serve", cwd=empty_home, env=given, stderr=PIPE)
    try:
        server = await until(lambda: _postmaster(empty_home))
        told = await until(lambda: _with_whatsapp(serving.pid, server))
        assert len(told) > 5
        assert_no_secrets({f"{server}": variables_of(server), **told}, key=key.partition(":")[2])
    finally:
        serving.terminate()
        _, said = await serving.communicate()
    assert serving.returncode == 0, said


def _postmaster(home: Path) -> int:
    mark = home / "postgresql" / "postmaster.pid"
    return int(mark.read_text().split()[0]) if mark.exists() and mark.read_text() else 0


def _with_whatsapp(*roots: int) -> dict[str, dict[str, str]]:
    told = children_told(*roots)
    return told if any("whatsapp.child" in command and variables for command, variables in told.items()) else {}


async def test_no_secret_reaches_the_workers_of_a_demo(test_folder: Path) -> None:
    """They are real workers with children of their own; the operator's own key and address are not for them."""
    home = make_home(test_folder / f"demo-{os.getpid()}")
    async with living(home, **SECRETS, TIDEGATE_KEY="k1:s3cret-key") as demo:
        told = await until(lambda: _with_whatsapp(demo.process.pid))
        assert any("forkserver" in command for command in told)
        for variables in told.values():
            variables.pop("HTTPS_PROXY", None)  # WhatsApp's processes are children of the workers here
        assert_no_secrets(told, key="s3cret-key")


async def test_the_reader_of_archives_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads what strangers made."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    async with ContentsSandbox() as sandbox, sandbox.child_at_work() as child:
        told = await until(lambda: variables_of(child.process.pid))
        assert set(told) <= OF_PYTHON | {"PYTHONDONTWRITEBYTECODE"}


def test_no_module_is_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that somebody left in the folder where a command is run would run as the operator."""
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the working folder was loaded')")
    monkeypatch.chdir(tmp_path)
    done = child_process.run(
        child_process.python_module("tidegate.archives.formats.sandbox_child"),
        env=child_process.python_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_a_library_starts_is_told_no_secret_of_ours(tmp_path: Path) -> None:
    """Telethon looks for a library of the system with a program; it gets what is left of our environment by then."""
    code = """
import os, sys
from tidegate.cli import command_runner
assert command_runner.loaded().settings.key.get_secret_value() == "k1:s3cret"
told = []
sys.addaudithook(lambda event, args: told.append({**os.environ}) if event == "subprocess.Popen" else None)
import telethon
assert command_runner.loaded().settings.key.get_secret_value() == "k1:s3cret"
print(*(name for one in told for name, value in one.items() if "s3cret" in value))
"""
    ours = {name: value for name, value in SECRETS.items() if name.startswith(("TIDEGATE_", "DATABASE_"))}
    given = environment(tmp_path, **ours, TIDEGATE_KEY="k1:s3cret")
    python = Path(sys.executable)
    done = subprocess.run([python, "-c", code], env=given, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_an_editor_is_told_what_it_needs_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's own program on the operator's own screen; what it saves comes back, and nothing if it does not."""
    for name, value in {**SECRETS, "TIDEGATE_KEY": "k1:s3cret", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    editor = tmp_path / "my editor"
    editor.write_text(f'#!/bin/sh\nenv >"{tmp_path}/told"\n[ "$1" = --save ] && echo changed >"$2"\nexit 0\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", f"'{editor}' --look")
    assert edited_text("before", extension=".toml") is None
    monkeypatch.setenv("EDITOR", f"'{editor}' --save")
    assert edited_text("before", extension=".toml") == "changed\n"
    told = (tmp_path / "told").read_text()
    assert "TERM=xterm" in told
    assert "s3cret" not in told


@pytest.mark.parametrize(("editor", "said"), [("/no/such/editor", "did not start"), ("false", "ended with code 1")])
def test_an_editor_that_fails_is_a_sentence(monkeypatch: pytest.MonkeyPatch, editor: str, said: str) -> None:
    """It is named, and nothing is changed."""
    monkeypatch.setenv("VISUAL", editor)
    with pytest.raises(TidegateError, match=f"The editor {editor} {said}"):
        edited_text("before", extension=".toml")
