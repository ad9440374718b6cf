"""What ``tidegate doctor`` checks on this machine: settings, folder, key, disk, port and libraries."""

from __future__ import annotations

import errno
import platform as machine
import re
import socket
import stat
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from tidegate import __version__
from tidegate.accounts import key_ring
from tidegate.accounts.key_ring import KeyRing
from tidegate.app.doctor.check import Check, failure, passed, warning
from tidegate.app.setting_sources import LoadedSettings
from tidegate.app.settings import Settings
from tidegate.core.errors import TidegateError
from tidegate.core.rules.readable_values import readable_size
from tidegate.problems.local_disk import disk_space

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def machine_checks(loaded: LoadedSettings) -> list[Check]:
    """All checks that need neither the database nor a platform."""
    settings = loaded.settings
    return [
        _settings(loaded.warnings),
        *_folder(settings.home),
        _key(settings),
        _disk(settings),
        _port("web port", settings.web_host, None if settings.web_socket else settings.web_port),
        _port("worker port", settings.web_host, settings.worker_port),
        *_versions(),
    ]


def _settings(warnings: Sequence[str]) -> Check:
    if warnings:
        return warning("settings", " ".join(warnings), "docs/settings.md")
    return passed("settings", "All settings are valid.")


def _folder(home: Path) -> list[Check]:
    if not home.exists():
        return [passed("data folder", f"{home} does not exist yet; it is made when it is needed.")]
    checks = [_permissions("data folder", home, home.stat().st_mode & stat.S_IWOTH)]
    for name in ("secret.key", "tidegate.toml"):
        file = home / name
        if file.exists():
            checks.append(_permissions(name, file, file.stat().st_mode & _OTHERS))
    return checks


def _permissions(name: str, path: Path, open_to_others: int) -> Check:
    mode = stat.filemode(path.stat().st_mode)
    if open_to_others:
        return failure(name, f"Others can use {path} ({mode}). Close it: chmod go= {path}", "docs/operating.md")
    return passed(name, f"{path} has safe permissions ({mode}).")


def _key(settings: Settings) -> Check:
    docs = "docs/operating.md#the-key"
    try:
        ring = known_keys(settings)
    except TidegateError as problem:
        return failure("key", str(problem), docs)
    if ring is None:
        return passed("key", "There is no key yet; it is made with the first account.", docs)
    return passed("key", f"The key {ring.ids[0]} of {ring.source} can be read. Keep a copy apart from backups.", docs)


def known_keys(settings: Settings) -> KeyRing | None:
    """The keys of this machine; None where none was made yet. It makes none."""
    if settings.key is not None:
        return key_ring.parse(settings.key.get_secret_value(), "TIDEGATE_KEY")
    return key_ring.read_file(key_ring.key_file(settings.home))


def _disk(settings: Settings) -> Check:
    disk = disk_space(settings.home)
    if disk.problems(settings.disk_reserve):
        reserve = readable_size(settings.disk_reserve)
        return warning("disk", f"The disk of {disk.path} is nearly full: {disk.words}; disk_reserve is {reserve}.")
    return passed("disk", f"The disk of {disk.path} has {disk.words}.")


def _port(name: str, host: str, port: int | None) -> Check:
    if port is None:
        return passed(name, "None is set.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                return passed(name, f"{host}:{port} is in use, by Tidegate itself if it runs.")
            return failure(name, f"{host}:{port} cannot be used: {problem.strerror}.", "docs/settings.md")
    return passed(name, f"{host}:{port} is free.")


def _libraries() -> list[str]:
    """The libraries that Tidegate itself needs, without those of extras."""
    needed = requires("tidegate") or []
    return [found[0] for one in needed if "extra ==" not in one and (found := _NAME.match(one))]


def _versions() -> list[Check]:
    python = ".".join(map(str, sys.version_info[:3]))
    ours = f"Tidegate {__version__}, Python {python}, {machine.system()} {machine.machine()}."
    found, missing = [], []
    for name in _libraries():
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        lacking = failure("libraries", f"Missing: {', '.join(missing)}. Install Tidegate again.")
        return [passed("versions", ours), lacking]
    return [passed("versions", ours), passed("libraries", f"{', '.join(found)}.")]
