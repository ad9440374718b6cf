"""Which files and folders are believed: only what nobody but this user and root can change."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.users import as_plain_user, as_root, give
from tidegate.core.errors import BadInput
from tidegate.core.files.trusted_files import NotReached, NotTrusted, make_folder, read_trusted, require_trusted_folder

KIND = "settings file"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_folder(tmp_path / "inside", 0o755)
    return tmp_path / "inside"


@pytest.fixture
def file(folder: Path) -> Path:
    file = folder / "tidegate.toml"
    file.write_text("seats = 1")
    file.chmod(0o644)
    return file


def content(path: Path) -> bytes | None:
    read = read_trusted(path, KIND)
    return read and read.content


class TestModes:
    def test_a_file_of_ours_is_read(self, file: Path) -> None:
        """With what its mode says about others."""
        read = read_trusted(file, KIND)
        assert read is not None
        assert (read.content, read.open_to_others) == (b"seats = 1", True)
        file.chmod(0o600)
        read = read_trusted(file, KIND)
        assert read is not None
        assert not read.open_to_others

    def test_a_missing_file_is_none(self, folder: Path) -> None:
        """Also in a folder that is missing, below a file, and in one that others could write to."""
        for path in (folder / "none", folder / "no" / "none", Path("/etc/passwd/none"), Path("/tmp/no such settings")):
            assert read_trusted(path, KIND) is None
        require_trusted_folder(folder / "none", "data folder")

    @given(st.integers(0, 0o777))
    def test_whatever_others_may_write_is_refused(self, mode: int) -> None:
        """Group or others, file or folder; whatever else the mode says."""
        path = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp") / f"trust-{os.getpid()}"
        make_folder(path, 0o700)
        (path / "file").touch()
        try:
            for one in (path / "file", path):
                one.chmod(mode)
                if mode & 0o022:
                    with pytest.raises(
                        NotTrusted, match=f"others may write to .*mode {mode:04o}.* Run: chmod go-w {one}"
                    ):
                        read_trusted(path / "file", KIND)
                elif os.geteuid() == 0:
                    assert read_trusted(path / "file", KIND) is not None
                one.chmod(0o700)
        finally:
            (path / "file").unlink()
            path.rmdir()

    def test_every_folder_above_counts(self, file: Path) -> None:
        """Who may rename a folder on the way can put another file in its place."""
        file.parent.parent.chmod(0o777)
        sentence = f"The {KIND} {file} is not trusted: others may write to the folder {file.parent.parent} (owner "
        with pytest.raises(NotTrusted) as refused:
            read_trusted(file, KIND)
        assert str(refused.value).startswith(sentence)
        with pytest.raises(NotTrusted):
            require_trusted_folder(file.parent, "data folder")

    def test_a_sticky_folder_may_stand_above(self, file: Path) -> None:
        """As /tmp does: others can put things there and cannot touch ours."""
        file.parent.parent.chmod(0o1777)
        assert content(file) == b"seats = 1"
        require_trusted_folder(file.parent, "data folder")

    def test_a_sticky_folder_holds_no_file_that_is_believed(self, file: Path) -> None:
        """Anybody could have put it there under that name."""
        file.parent.chmod(0o1777)
        with pytest.raises(NotTrusted, match="Move it to a folder of your own"):
            read_trusted(file, KIND)
        with pytest.raises(NotTrusted, match="Move it to a folder of your own"):
            require_trusted_folder(file.parent, "data folder")


@as_root
class TestOwners:
    def test_another_users_file_is_refused(self, file: Path) -> None:
        """The sentence names owner, mode and what to do."""
        give(file)
        with pytest.raises(NotTrusted) as refused:
            read_trusted(file, KIND)
        assert str(refused.value) == (
            f"The {KIND} {file} is not trusted: another user owns it (owner nobody, mode 0644), and Tidegate runs as "
            f"root. If it is yours, run: chown root {file}. If not, remove it or work elsewhere."
        )

    @pytest.mark.parametrize("above", [0, 1])
    def test_another_users_folder_is_refused(self, file: Path, above: int) -> None:
        """Its owner can put any file there, whatever the mode says today."""
        give(file.parents[above])
        with pytest.raises(NotTrusted, match=f"another user owns the folder {file.parents[above]} "):
            read_trusted(file, KIND)

    def test_another_users_folder_below_a_sticky_one_is_refused(self, file: Path) -> None:
        """The sticky bit keeps others from ours, and us from theirs."""
        file.parent.parent.chmod(0o1777)
        give(file.parent)
        with pytest.raises(NotTrusted, match=f"another user owns the folder {file.parent} "):
            read_trusted(file, KIND)

    def test_a_sticky_folder_of_another_user_is_refused(self, file: Path) -> None:
        """Its owner may rename what lies in it."""
        file.parent.parent.chmod(0o1777)
        give(file.parent.parent)
        with pytest.raises(NotTrusted, match=f"another user owns the folder {file.parent.parent} "):
            read_trusted(file, KIND)

    def test_a_user_with_no_name_is_named_by_number(self, file: Path) -> None:
        """Files come from other machines."""
        give(file, 4_000_000)
        with pytest.raises(NotTrusted, match="owner user number 4000000"):
            read_trusted(file, KIND)

    def test_a_plain_user_believes_roots_files_and_no_other_users(self, test_folder: Path) -> None:
        """Root may change everything anyway."""
        file = test_folder / f"roots-{os.getpid()}.toml"
        file.write_text("seats = 1")
        file.chmod(0o644)
        assert as_plain_user(lambda: content(file)) == b"seats = 1"
        give(file)
        assert isinstance(as_plain_user(lambda: content(file)), NotTrusted)
        file.unlink()

    def test_what_cannot_be_reached_is_told(self, test_folder: Path) -> None:
        """A closed folder on the way is no proof that there is nothing."""
        closed = test_folder / f"closed-{os.getpid()}"
        make_folder(closed, 0o700)
        told = as_plain_user(lambda: content(closed / "tidegate.toml"))
        assert isinstance(told, NotReached)
        assert str(told) == (
            f"The {KIND} {closed}/tidegate.toml cannot be reached through {closed}: Permission denied."
        )
        closed.rmdir()

    def test_a_file_closed_to_us_is_told(self, test_folder: Path) -> None:
        """Root's own, which it wants nobody to read."""
        file = test_folder / f"closed-{os.getpid()}.toml"
        file.touch(0o600)
        told = as_plain_user(lambda: content(file))
        assert str(told) == f"The {KIND} {file} cannot be read: Permission denied."
        file.unlink()


class TestLinks:
    def test_a_link_is_followed(self, file: Path, tmp_path: Path) -> None:
        """Relative, absolute, through folders, through links to links."""
        (tmp_path / "relative").symlink_to("inside/../inside/tidegate.toml")
        (tmp_path / "absolute").symlink_to(file)
        (tmp_path / "again").symlink_to("absolute")
        (tmp_path / "folder").symlink_to("inside")
        for name in ("relative", "absolute", "again", "folder/tidegate.toml", "folder/../inside/./tidegate.toml"):
            assert content(tmp_path / name) == b"seats = 1", name
        require_trusted_folder(tmp_path / "folder", "data folder")

    def test_where_a_link_leads_is_checked(self, file: Path, tmp_path: Path) -> None:
        """The file and every folder there."""
        (tmp_path / "link").symlink_to(file)
        file.chmod(0o666)
        with pytest.raises(NotTrusted, match=f"others may write to {file} "):
            read_trusted(tmp_path / "link", KIND)
        file.chmod(0o644)
        file.parent.chmod(0o777)
        with pytest.raises(NotTrusted, match=f"others may write to the folder {file.parent} "):
            read_trusted(tmp_path / "link", KIND)

    def test_where_a_link_lies_is_checked(self, file: Path, tmp_path: Path) -> None:
        """Who can change the link chooses what is read."""
        make_folder(tmp_path / "open", 0o777)
        (tmp_path / "open" / "link").symlink_to(file)
        (tmp_path / "link").symlink_to("open/link")
        for path in (tmp_path / "open" / "link", tmp_path / "link"):
            with pytest.raises(NotTrusted, match=f"others may write to the folder {tmp_path / 'open'} "):
                read_trusted(path, KIND)

    @as_root
    def test_another_users_link_in_a_sticky_folder_is_refused(self, file: Path, tmp_path: Path) -> None:
        """It leads to a folder of ours today."""
        make_folder(tmp_path / "sticky", 0o1777)
        (tmp_path / "sticky" / "link").symlink_to(file.parent)
        give(tmp_path / "sticky" / "link")
        with pytest.raises(NotTrusted, match="another user owns"):
            read_trusted(tmp_path / "sticky" / "link" / "tidegate.toml", KIND)

    def test_a_link_that_leads_nowhere_is_refused(self, tmp_path: Path) -> None:
        """It was put there to be read; it is not ignored."""
        (tmp_path / "dangling").symlink_to("missing")
        with pytest.raises(BadInput, match="leads to nothing"):
            read_trusted(tmp_path / "dangling", KIND)
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(BadInput, match="leads to itself"):
            read_trusted(tmp_path / "loop", KIND)


class TestKinds:
    def test_only_a_file_is_read(self, tmp_path: Path) -> None:
        """A named pipe holds nobody up, and a device is not opened."""
        os.mkfifo(tmp_path / "pipe", 0o600)
        make_folder(tmp_path / "folder", 0o700)
        signal.alarm(20)  # a reader that waits would wait for ever
        for path, what in ((tmp_path / "pipe", "a named pipe"), (tmp_path / "folder", "a folder")):
            with pytest.raises(BadInput, match=f"cannot be read: it is {what}, not a file"):
                read_trusted(path, KIND)
        signal.alarm(0)

    @as_root
    def test_a_device_is_not_read(self) -> None:
        """/dev/zero has no end."""
        with pytest.raises(BadInput, match=r"it is a device|others may write"):
            read_trusted(Path("/dev/zero"), KIND)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_a_folder_is_made_with_its_mode(tmp_path: Path, umask: int) -> None:
    """Whatever the umask; one that is there stays as it is."""
    old = os.umask(umask)
    try:
        assert make_folder(tmp_path / "made", 0o711)
        assert not make_folder(tmp_path / "made", 0o700)
    finally:
        os.umask(old)
    assert (tmp_path / "made").stat().st_mode & 0o7777 == 0o711
