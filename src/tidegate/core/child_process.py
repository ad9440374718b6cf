"""Child processes: each gets an environment of the variables named here, never our whole environment.

Ours holds secrets (the key ring, the database's address, platforms' hashes). Processes of the same user can read a
child's environment while it runs. So every child is started in this module.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tidegate

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

SYSTEM = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "NSS_WRAPPER_PASSWD", "NSS_WRAPPER_GROUP",  # as some containers give users a name
)  # fmt: skip
"""What any program may need to run at all."""

NETWORK = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""How a program reaches other machines; a proxy's address may hold a password."""

LIBPQ = (
    "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE",
    "PGCHANNELBINDING", "PGREQUIREAUTH", "PGSSLMODE", "PGSSLNEGOTIATION", "PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT",
    "PGSSLCRL", "PGSSLCRLDIR", "PGSSLSNI", "PGSSLMINPROTOCOLVERSION", "PGSSLMAXPROTOCOLVERSION", "PGGSSENCMODE",
    "PGKRBSRVNAME", "PGGSSLIB", "PGGSSDELEGATION", "PGTARGETSESSIONATTRS", "PGCONNECT_TIMEOUT", "KRB5CCNAME",
    "KRB5_CONFIG",
)  # fmt: skip
"""What an operator may set in place of parts of the address of a server of their own."""

TERMINAL = (
    "TERM", "TERMINFO", "TERMINFO_DIRS", "COLORTERM", "COLORFGBG", "LINES", "COLUMNS", "SHELL", "DISPLAY", "XAUTHORITY",
    "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CACHE_HOME", "XDG_STATE_HOME", "VISUAL", "EDITOR", "VIM", "VIMRUNTIME",
    "VIMINIT", "EXINIT", "NVIM", "NVIM_APPNAME", "EMACS_SOCKET_NAME", "ALTERNATE_EDITOR", "VSCODE_IPC_HOOK_CLI", "TMUX",
)  # fmt: skip
"""What an editor needs to come up on the operator's screen as they know it."""

_COVERAGE = "COVERAGE_PROCESS_CONFIG"  # set while the lines that tests run are counted


def environment(*allowed: str, **given: str) -> dict[str, str]:
    """The environment of a child: the *allowed* ones of our variables, and those *given*."""
    return {name: os.environ[name] for name in allowed if name in os.environ} | given


def python_environment(*allowed: str, **given: str) -> dict[str, str]:
    """The same for a child that runs our own code; it imports nothing from the working folder."""
    source = str(Path(tidegate.__file__).parent.parent)
    return environment(*allowed, _COVERAGE, PYTHONPATH=source, PYTHONSAFEPATH="1", **given)


def python_module(name: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of ours in a process of its own."""
    return (sys.executable, "-m", name, *arguments)


def run(command: Sequence[str], *, env: Mapping[str, str], **how: Any) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end; *how* as for ``subprocess.run``."""
    return subprocess.run(command, env=env, **how)  # noqa: PLW1510 - the caller says whether a failure is an error


async def start(*command: str, env: Mapping[str, str], **how: Any) -> Process:
    """Start a program beside us; *how* as for ``asyncio.create_subprocess_exec``."""
    return await asyncio.create_subprocess_exec(*command, env=env, **how)


def fork(target: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Start *target* in a process forked from multiprocessing's server, which has its modules loaded already.

    The fork server keeps the environment of the process that starts it, so ours is replaced for that moment.
    """
    import multiprocessing  # noqa: PLC0415 - only demos need it

    process = multiprocessing.get_context("forkserver").Process(target=target, args=arguments, daemon=True)
    with _in_place_of_ours(python_environment(*SYSTEM)):
        process.start()
    return process


@contextmanager
def _in_place_of_ours(other: Mapping[str, str]) -> Iterator[None]:
    ours = dict(os.environ)
    os.environ.clear()
    os.environ.update(other)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(ours)


def kill_child(process: Process) -> None:
    """End *process* at once; does nothing if it has ended.

    ``Process.kill`` first polls whether it has ended. That takes the exit code away from asyncio, which then prints
    "Unknown child process pid" and reports 255.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
