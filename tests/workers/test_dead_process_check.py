"""Whether a process of this machine is gone."""

from __future__ import annotations

import os
import subprocess
import sys

from tidegate.workers.dead_process_check import process_gone, this_host, this_process


def test_this_process_is_not_gone() -> None:
    """The one process everybody can be sure of."""
    assert not process_gone(this_host(), this_process())


def test_a_killed_process_is_gone_even_before_it_is_buried() -> None:
    """A killed worker is a zombie until its parent looks; it serves nobody either way."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = this_process_of(child.pid)
    assert not process_gone(this_host(), started)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not buried
    assert process_gone(this_host(), started)
    child.communicate()
    assert process_gone(this_host(), started)


def test_another_process_under_the_same_number_is_not_the_same() -> None:
    """Process numbers are used again; the start time tells."""
    number, _, started = this_process().partition(" ")
    assert process_gone(this_host(), f"{number} {int(started) - 1}")


def test_nothing_is_said_of_another_machine() -> None:
    """Its numbers mean nothing here, and guessing would free accounts that are still served."""
    assert not process_gone("another boot pid:[1]", "999999999 1")
    assert not process_gone("", "999999999 1")


def this_process_of(pid: int) -> str:
    """What a child's own ``this_process()`` says."""
    from tidegate.workers import dead_process_check

    return f"{pid} {dead_process_check._started(pid)}"
