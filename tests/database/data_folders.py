"""Data folders of the embedded server: what their database answers, and one of an older PostgreSQL."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.servers import FAST, make_home
from tidegate.database.embedded.data_folder import DataFolder
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.embedded.server import Server


def ask(home: Path, sql: str = "SELECT 1") -> str:
    command = [wheel_programs() / "psql", "-XtAc", sql, "-h", home / "socket", "-U", "tidegate", "-d", "tidegate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "away"


def postmaster(home: Path) -> int:
    return int((home / "postgresql" / "postmaster.pid").read_text().split()[0])


def make_old_data(home: Path) -> None:
    """A data folder as an earlier Tidegate, on PostgreSQL 16, would have left it after a crash."""
    make_home(home)
    folder = DataFolder(home)
    old, programs, ask_as = folder.fresh(), wheel_programs("16"), folder.runner.ask
    ask_as(programs / "initdb", "-D", old.name, "-U", "tidegate", "--auth=trust", "--encoding=UTF8", "--locale=C")
    old.rename(folder.data)
    Server(folder, FAST, version="16").ensure_running()
    ask_as(programs / "createdb", "-h", folder.socket, "-U", "tidegate", "tidegate")
    ask(home, "CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(postmaster(home), signal.SIGKILL)
