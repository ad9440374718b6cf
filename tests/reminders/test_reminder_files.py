"""Files that reminders name: which of them are read from the operator's disk, and which names others may give."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.core.errors import BadInput
from tidegate.reminders import reminder_files
from tidegate.reminders.definition import Reminder
from tidegate.reminders.reminder_files import LARGEST, read_files, with_plain_names
from tidegate.reminders.reminder_parser import parse_reminder

HELD, OTHER = b"h" * 32, b"o" * 32


def naming(*names: str) -> Reminder:
    """A reminder with a picture a name."""
    parts: list[dict[str, Any]] = [{"media": name} for name in names]
    return parse_reminder({"name": "Friday stock", "account": "shop", "all": True, "parts": parts})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a reminder, with a poster in it and a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    made = tmp_path / "shop"
    (made / "posters").mkdir(parents=True)
    (made / "poster.png").write_bytes(b"poster")
    (made / "posters" / "old.png").write_bytes(b"old poster")
    return made


class TestTheFolder:
    async def test_files_of_the_folder_and_below_are_read(self, folder: Path) -> None:
        """By name, by a path below the folder, and by an absolute path that leads into it."""
        names = ["poster.png", "posters/old.png", str(folder / "poster.png"), "posters/../poster.png"]
        found = await read_files(naming(*names), folder)
        assert {name: one.content for name, one in found.items()} == dict(
            zip(names, [b"poster", b"old poster", b"poster", b"poster"], strict=True)
        )

    @pytest.mark.parametrize(
        "name", ["../secret.txt", "posters/../../secret.txt", "/etc/hostname", "link", "out/secret.txt", "."]
    )
    async def test_nothing_outside_the_folder_is_read(self, folder: Path, name: str) -> None:
        """Neither by a path that climbs, nor by an absolute one, nor by a link to a file or a folder elsewhere."""
        (folder / "link").symlink_to(folder.parent / "secret.txt")
        (folder / "out").symlink_to(folder.parent)
        with pytest.raises(BadInput, match="lies outside"):
            await read_files(naming(name), folder)

    async def test_a_link_that_stays_inside_is_followed(self, folder: Path) -> None:
        """Operators keep "today.png" as a link to one of several posters."""
        (folder / "today.png").symlink_to("posters/old.png")
        assert (await read_files(naming("today.png"), folder))["today.png"].content == b"old poster"

    async def test_only_regular_files_are_read(self, folder: Path) -> None:
        """A pipe would hold the command up for ever, a folder has no content; both get a sentence."""
        os.mkfifo(folder / "pipe.png")
        for name in ("pipe.png", "posters"):
            with pytest.raises(BadInput, match="not a regular file"):
                await read_files(naming(name), folder)
        with pytest.raises(BadInput, match="not a regular file"):
            await read_files(naming("null"), Path("/dev"))
        with pytest.raises(BadInput, match="empty"):
            await read_files(naming("self/environ"), Path("/proc"))

    @pytest.mark.parametrize("swapped", ["posters", "posters/old.png"])
    async def test_a_link_put_in_after_the_check_is_not_followed(
        self, folder: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody who may write into the folder swaps a step for a link just before the file is opened."""
        secrets = folder.parent / "secrets"
        secrets.mkdir()
        (secrets / "old.png").write_bytes(b"secret")
        opened: Callable[..., int] = os.open

        def swap_first(path: Any, flags: int, **named: Any) -> int:
            if "dir_fd" in named and not (folder / swapped).is_symlink():
                (folder / swapped).rename(folder / "aside")
                (folder / swapped).symlink_to(secrets / "old.png" if swapped.endswith("png") else secrets)
            return opened(path, flags, **named)

        monkeypatch.setattr(reminder_files.os, "open", swap_first)
        with pytest.raises(BadInput, match="cannot be read"):
            await read_files(naming("posters/old.png"), folder)

    async def test_a_file_that_is_too_large_is_refused_before_it_is_read(self, folder: Path) -> None:
        """A disk image named by mistake fills no memory."""
        with (folder / "large.bin").open("wb") as large:
            large.truncate(LARGEST + 1)
        with pytest.raises(BadInput, match="larger than 100 MB"):
            await read_files(naming("large.bin"), folder)

    async def test_what_is_stored_is_not_read_from_the_disk(self, folder: Path) -> None:
        """A name that the reminder has already means the content kept with it, also when a file is called so here."""
        names = ["poster.png", "/etc/hostname"]
        assert await read_files(naming(*names), folder, stored=names) == {}


class TestNamesOfOthers:
    @pytest.mark.parametrize("name", ["/etc/passwd", "../poster.png", "a\\b.png", ".env", "a\u202eb.png"])
    def test_names_that_are_no_plain_names_are_refused(self, name: str) -> None:
        """In a part, and among the files sent ahead."""
        with pytest.raises(BadInput, match="The file needs a plain name"):
            with_plain_names(naming(name), {name: HELD})
        with pytest.raises(BadInput, match="The file needs a plain name"):
            with_plain_names(naming("poster.png"), {"poster.png": HELD, name: HELD})

    def test_one_name_written_in_two_ways_is_one_file(self) -> None:
        """The part has é as one character and the file as two; they belong together."""
        reminder, given = with_plain_names(naming("caf\u00e9.png"), {"cafe\u0301.png": HELD})
        assert ([part.media for part in reminder.parts], given) == (["caf\u00e9.png"], {"caf\u00e9.png": HELD})
        with pytest.raises(BadInput, match="Two files are called"):
            with_plain_names(naming("caf\u00e9.png"), {"cafe\u0301.png": HELD, "caf\u00e9.png": OTHER})

    def test_a_stored_name_keeps_its_content_or_becomes_plain(self) -> None:
        """An operator's "posters/old.png" survives a change over the API; nobody puts other content under it."""
        stored = {"posters/old.png": HELD}
        reminder, _ = with_plain_names(naming("posters/old.png"), {}, stored=stored)
        assert reminder.parts[0].media == "posters/old.png"
        assert with_plain_names(naming("posters/old.png"), stored, stored=stored)[1] == stored
        with pytest.raises(BadInput, match="The file needs a plain name"):
            with_plain_names(naming("posters/old.png"), {"posters/old.png": OTHER}, stored=stored)
