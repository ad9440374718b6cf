"""Errors of a command as sentences: what happened, what to do, and the exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from tidegate.core.errors import TidegateError
from tidegate.core.terminal import say

_INTERRUPTED = 130  # as shells report a program ended by Ctrl-C
_NOBODY_READS = 141  # as shells report a program whose reader went away


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """What the person at the terminal reads, and what a script sees."""

    sentence: str
    exit_code: int = 1


@contextmanager
def as_sentences() -> Iterator[None]:
    """Turn every exception of a command into one sentence on stderr and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    except BrokenPipeError:
        _let_go_of_stdout()
        raise SystemExit(_NOBODY_READS) from None
    except Exception as problem:
        if isinstance(problem, typer.Exit | typer.Abort | typer.BadParameter):  # the command line's own ways to end
            raise
        _log_traceback(problem)
        failure = explain(problem)
        say(failure.sentence)
        raise SystemExit(failure.exit_code) from problem


def explain(problem: BaseException) -> ErrorMessage:
    """The sentence for an exception of Tidegate, a library or the operating system."""
    cause = _leaf(problem)
    if isinstance(cause, TidegateError):
        return ErrorMessage(str(cause), cause.exit_code)
    if lost := _database_failure(cause):
        return ErrorMessage(lost)
    if isinstance(cause, OSError):
        return ErrorMessage(_machine_failure(cause))
    return ErrorMessage(
        f"Something went wrong that Tidegate did not expect: {type(cause).__name__} at {_place(cause)}. "
        "Run the same command with TIDEGATE_DEBUG=1 to see how it came to that, and please report it."
    )


def _leaf(problem: BaseException) -> BaseException:
    """The failure that matters inside a group: one of our own sentences before anything else."""
    if not isinstance(problem, BaseExceptionGroup):
        return problem
    leaves = [_leaf(inner) for inner in problem.exceptions]
    return next((leaf for leaf in leaves if isinstance(leaf, TidegateError)), leaves[0])


def _database_failure(problem: BaseException) -> str | None:
    asyncpg = sys.modules.get("asyncpg")
    if asyncpg is None:  # then it cannot have raised anything
        return None
    lost = "The connection to the database was lost before the work was done; run the command again once it answers."
    known = {
        asyncpg.DiskFullError: "The database server's disk is full; make room there and run the command again.",
        asyncpg.TooManyConnectionsError: "The database server has no connection left; lower database_connections, "
        "or raise its max_connections.",
        asyncpg.InsufficientPrivilegeError: f"The database does not allow this to its user ({problem}).",
        asyncpg.PostgresConnectionError: lost,
        asyncpg.AdminShutdownError: lost,
        asyncpg.CrashShutdownError: lost,
        asyncpg.CannotConnectNowError: lost,
    }
    if type(problem) is asyncpg.InterfaceError:  # its subclasses are about values, not about the connection
        return f"The database connection could not be used any more ({problem}); run the command again."
    return next((sentence for kind, sentence in known.items() if isinstance(problem, kind)), None)


def _machine_failure(problem: OSError) -> str:
    where = f" ({problem.filename})" if problem.filename else ""
    if problem.errno == errno.EADDRINUSE:
        return f"The address is in use already{where}; end the program that has it, or choose another port."
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full{where}; make room and run the command again."
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"This user may not do that{where}: {problem.strerror}."
    if isinstance(problem, ConnectionError | TimeoutError):
        return f"The other side does not answer{where}: {problem.strerror or 'it took too long'}."
    return f"The operating system refused{where}: {problem.strerror or problem}."


def _place(problem: BaseException) -> str:
    """Where an exception was raised; its text is left out, because it may hold anything."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "tidegate" in Path(frame.filename).parts] or list(frames)
    if not ours:
        return "an unknown place"
    path = Path(ours[-1].filename)
    return f"{path.parent.name}/{path.name} line {ours[-1].lineno}"


def _log_traceback(problem: BaseException) -> None:
    if os.environ.get("TIDEGATE_DEBUG", "") in ("", "0"):
        return
    import structlog

    from tidegate.app import logs

    if not structlog.is_configured():  # it failed before the settings were known
        logs.set_up()
    structlog.get_logger("tidegate").error("the command failed", exc_info=problem)


def _let_go_of_stdout() -> None:
    """The reader closed the pipe: keep Python's last flush from printing an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
