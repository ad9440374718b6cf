"""The wheel: what it holds, and that it works where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tidegate import __version__
from tidegate.database.migrations import HEAD

ROOT = Path(__file__).parent.parent.parent
BUILT_FROM = ("src", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: building leaves nothing in the working tree."""
    source = tmp_path_factory.mktemp("source folder")  # with a space, as people have them
    for name in BUILT_FROM:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_schema_and_the_types(wheel: Path) -> None:
    """Migrations are read from files at run time, and type checkers look for py.typed."""
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name == f"tidegate-{__version__}-py3-none-any.whl"
    assert "tidegate/py.typed" in names
    assert any(name.startswith(f"tidegate/database/migrations/versions/{HEAD}_") for name in names)
    assert "tidegate/database/migrations/versions/0002_mirror.py" in names


def test_the_wheel_holds_the_pages(wheel: Path) -> None:
    """Templates, style, script and htmx with its licence: the pages need nothing that is not inside."""
    held = set(zipfile.ZipFile(wheel).namelist())
    web = ROOT / "src" / "tidegate" / "web"
    shown = [path for folder in ("templates", "static") for path in (web / folder).rglob("*") if path.is_file()]
    assert len(shown) > 20
    assert [path.name for path in shown if f"tidegate/web/{path.relative_to(web)}" not in held] == []


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    """No tests, no caches, no folder of this machine."""
    holds = zipfile.ZipFile(wheel)
    outside = [name for name in holds.namelist() if not re.match(r"tidegate(-[\d.]+\.dist-info)?/", name)]
    assert outside == []
    assert not any("__pycache__" in name for name in holds.namelist())
    assert not [name for name in holds.namelist() if str(ROOT).encode() in holds.read(name)]


def test_an_installed_wheel_works(wheel: Path, tmp_path: Path) -> None:
    """In a fresh venv `tidegate --version` answers, and the schema's steps are found beside the code."""
    home = tmp_path / "a venv"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    pip_is_silent = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    subprocess.run([*install, str(wheel)], check=True, env=pip_is_silent, capture_output=True)
    _lend_dependencies(home)

    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TIDEGATE"))}
    said = subprocess.run(
        [home / "bin" / "tidegate", "--version"], cwd=tmp_path, env=clean, check=True, capture_output=True, text=True
    )
    assert said.stdout == f"tidegate {__version__}\n"
    code = "from tidegate.database import migrations; print(migrations.FOLDER, migrations.HEAD)"
    found = subprocess.run([python, "-c", code], cwd=tmp_path, env=clean, check=True, capture_output=True, text=True)
    assert found.stdout.startswith(str(home))
    assert found.stdout.endswith(f" {HEAD}\n")


def _lend_dependencies(home: Path) -> None:
    """Let the fresh venv see this one's packages, after its own; not this one's editable Tidegate."""
    [site] = home.glob("lib/python*/site-packages")
    lender = sysconfig.get_path("purelib")
    (site / "lent.pth").write_text(f"{lender}\n")
