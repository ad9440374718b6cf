"""The folder in which parts of archives lie: ours alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.users import as_root, give
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.core.errors import BadInput
from tidegate.core.files.trusted_files import NotTrusted, make_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_it_is_made_for_us_alone(tmp_path: Path, umask: int) -> None:
    """Mode 0700, whatever the umask: what lies in it came from private channels."""
    old = os.umask(umask)
    try:
        WorkFolder(tmp_path / "work", reserve=0).require_room(1)
        assert mode(tmp_path / "work") == 0o700
    finally:
        os.umask(old)


def test_one_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    """What lies in it stays: a download goes on where it was."""
    make_folder(tmp_path / "work", 0o755)
    (tmp_path / "work" / "7").mkdir()
    assert WorkFolder(tmp_path / "work").sets() == {7}
    assert mode(tmp_path / "work") == 0o700


def test_one_that_others_could_write_to_is_emptied(tmp_path: Path) -> None:
    """A link that they left there would have us write over any file of ours; the parts are fetched again."""
    make_folder(tmp_path / "work", 0o777)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "work" / "7").mkdir()
    (tmp_path / "work" / "8").symlink_to(tmp_path)
    (tmp_path / "work" / "7" / "0001 a.zip.part").symlink_to(tmp_path / "precious")
    assert WorkFolder(tmp_path / "work").sets() == set()
    assert mode(tmp_path / "work") == 0o700
    assert (tmp_path / "precious").read_text() == "mine"


def test_it_may_be_on_another_disk(tmp_path: Path) -> None:
    """Behind a link of the operator's, to a place that nobody else can change."""
    make_folder(tmp_path / "elsewhere", 0o755)
    make_folder(tmp_path / "elsewhere" / "work", 0o755)
    (tmp_path / "work").symlink_to("elsewhere/work")
    WorkFolder(tmp_path / "work", reserve=0).require_room(1)
    assert mode(tmp_path / "elsewhere" / "work") == 0o700
    (tmp_path / "elsewhere").chmod(0o777)
    with pytest.raises(NotTrusted, match="others may write to"):
        WorkFolder(tmp_path / "work")


@as_root
def test_another_users_is_refused(tmp_path: Path) -> None:
    """It was planted while the data folder was open to them."""
    make_folder(tmp_path / "work", 0o700)
    give(tmp_path / "work")
    with pytest.raises(BadInput, match="belongs to another user"):
        WorkFolder(tmp_path / "work")
