"""Editing a text in the operator's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from pathlib import Path

from tidegate.core import child_process
from tidegate.core.errors import TidegateError


def edited_text(text: str, *, extension: str) -> str | None:
    """The edited text; None if the editor was closed without saving."""
    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        file = Path(folder) / f"edit{extension}"
        file.write_text(text, encoding="utf-8")
        os.utime(file, (0, 0))  # saving is seen however coarse the file system's clock is
        _run_editor(file)
        return None if file.stat().st_mtime == 0 else file.read_text(encoding="utf-8")


def _run_editor(file: Path) -> None:
    written = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _installed()
    env = child_process.environment(*child_process.SYSTEM, *child_process.TERMINAL)
    try:
        code: int = child_process.run([*shlex.split(written), str(file)], env=env, check=False).returncode
    except (OSError, ValueError) as problem:
        raise TidegateError(f"The editor {written} did not start: {problem}. Set EDITOR to another.") from problem
    if code != 0:
        raise TidegateError(f"The editor {written} ended with code {code}, so nothing is changed.")


def _installed() -> str:
    return next((name for name in ("sensible-editor", "vim", "nano") if shutil.which(name)), "vi")
