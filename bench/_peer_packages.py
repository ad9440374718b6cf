"""Packages of other projects, installed beside Tidegate's own: pinned by hash, and never copied into it.

They come from the registries that pip and npm are set up with on this machine.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"
PYTHON_LOCK, NPM_LOCK = REQUIREMENTS / "peers.txt", REQUIREMENTS / "peers-npm.txt"


class PeerUnavailable(Exception):
    """A peer cannot be measured here; the text is a sentence for people."""


@contextmanager
def package_folder(named: str | None) -> Iterator[Path]:
    """The folder that was named, which is kept and used again, or one that is removed afterwards."""
    if named is not None:
        folder = Path(named).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tg-peers-") as made:
        yield Path(made)


async def python_with_peers(folder: Path) -> Path:
    """The interpreter of a venv that has exactly what ``requirements/peers.txt`` names."""
    venv, lock = folder / "python", PYTHON_LOCK.read_text()
    made_from, python = venv / ".made-from", venv / "bin" / "python"
    if not made_from.exists() or made_from.read_text() != lock:
        await _run(sys.executable, "-m", "venv", "--clear", str(venv))
        tools = venv / "tools.txt"  # what builds the others is pinned like them, so it is there before them
        tools.write_text(_block(lock, "setuptools"))
        await _install(python, tools)
        await _install(python, PYTHON_LOCK, "--no-build-isolation")
        made_from.write_text(lock)
    return python


async def npm_package(folder: Path, name: str) -> Path:
    """The folder of an installed npm package, whose archive has the integrity that is written down."""
    version, integrity = pinned(NPM_LOCK.read_text(), name)
    home = folder / f"npm-{name}-{version}"
    installed = home / "node_modules" / name
    if not installed.exists():
        with tempfile.TemporaryDirectory(dir=folder) as made:
            await _run("npm", "pack", f"{name}@{version}", "--silent", "--pack-destination", made)
            [archive] = Path(made).iterdir()
            check_integrity(archive, integrity)
            # What it would work with, a WhatsApp client, is not needed and not installed.
            options = ("--offline", "--ignore-scripts", "--no-package-lock", "--no-save", "--legacy-peer-deps")
            await _run("npm", "install", "--silent", *options, "--prefix", str(home), str(archive))
    return installed


def pinned(lock: str, name: str) -> tuple[str, str]:
    """Version and integrity of an npm package."""
    found = {line.split()[0]: line.split()[1:] for line in lock.splitlines()}
    version, integrity = found[name]
    return version, integrity


def check_integrity(archive: Path, integrity: str) -> None:
    """Refuse an archive whose bytes are not those that were pinned."""
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if integrity != f"sha512-{digest}":
        raise PeerUnavailable(f"{archive.name} is not the package that requirements/peers-npm.txt names.")


def program(name: str) -> str:
    """Where a program is; a peer that needs it cannot be measured without it."""
    found = shutil.which(name)
    if found is None:
        raise PeerUnavailable(f"{name} is not installed.")
    return found


def _block(lock: str, name: str) -> str:
    found = re.search(rf"^{name}==(?:.*\\\n)*.*$", lock, flags=re.MULTILINE)
    assert found is not None, f"{name} is not locked"
    return found[0] + "\n"


async def _install(python: Path, lock: Path, *options: str) -> None:
    pip = (str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--no-cache-dir")
    await _run(*pip, "--disable-pip-version-check", *options, "-r", str(lock))


async def _run(command: str, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        program(command), *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=os.environ
    )
    told, _ = await process.communicate()
    if process.returncode:
        lines = told.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise PeerUnavailable(f"{Path(command).name} {arguments[0]} failed: {lines[-1]}")
