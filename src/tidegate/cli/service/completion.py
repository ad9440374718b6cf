"""``tidegate completion``: the script that lets a shell complete commands and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tidegate.cli import command_runner
from tidegate.core import terminal

PROGRAM = "tidegate"
VARIABLE = "_TIDEGATE_COMPLETE"
"""The shell's script asks the program with this variable set."""


class Shell(StrEnum):
    """Shells whose completion is supported."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help=f"One of {', '.join(Shell)}.")],
) -> None:
    """Print a script for your shell that completes commands."""
    command_runner.run(lambda: _print(shell))


def _print(shell: Shell) -> None:
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value)
    terminal.print_document(f"{script.strip()}\n")


def answer_shell() -> None:
    """Make the program answer a shell that asks for completions."""
    from typer._completion_classes import completion_init

    completion_init()
