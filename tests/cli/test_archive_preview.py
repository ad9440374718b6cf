"""``tidegate archive preview``: a picture of an archive, from a post to a file of the operator's."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.channel_commands import add_account, control, do, told
from tests.cli.program import TIDEGATE, at_terminal, environment, tidegate
from tidegate.loopback.telegram.world.pictures import photo_sizes

__all__ = ["control"]  # a fixture


async def test_a_preview_is_found_shown_and_written(home: Path, control: str) -> None:
    """Post a picture and files, make a cycle, look, write it once to a file and once to standard output."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Vault", home=home).returncode == 0
    do(control, "/telegram/post", {"channel": "Vault", "files": [{"name": "castle.png", "picture": True}]})
    do(control, "/telegram/post", {"channel": "Vault", "files": [{"name": "castle.pdf", "size": 500}]})
    told(home, "cycle", "reader")
    told(home, "cycle", "reader")  # the first sees documents alone; what is too new to be sure of waits
    [archive] = told(home, "archive", "list")
    picture = photo_sizes("castle.png")["x"]
    shown = told(home, "archive", "show", str(archive["id"]))
    assert shown["preview"] == {"message": 2, "size": len(picture), "type": "image/png"}
    said = tidegate("archive", "show", str(archive["id"]), home=home).stdout
    assert f"image/png, {len(picture)} bytes, from message 2" in said
    done = tidegate("archive", "preview", str(archive["id"]), "castle.png", home=home)
    assert (done.returncode, (home / "castle.png").read_bytes()) == (0, picture)
    again = tidegate("archive", "preview", str(archive["id"]), "castle.png", home=home)
    assert (again.returncode, again.stderr) == (2, "castle.png exists already; name another file.\n")
    assert piped(home, str(archive["id"])) == picture
    refused = at_terminal("archive", "preview", str(archive["id"]), "-", home=home)
    assert (refused.returncode, refused.stdout.startswith("This is not text")) == (2, True)


def piped(home: Path, archive: str) -> bytes:
    """What goes to standard output."""
    command = [TIDEGATE, "archive", "preview", archive, "-"]
    return subprocess.run(command, cwd=home, env=environment(home), capture_output=True, check=True, timeout=60).stdout


async def test_without_a_picture_it_says_why(home: Path, control: str) -> None:
    """Exit code 3 where there is none, 2 for an archive or a folder that does not exist."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Workshop News", home=home).returncode == 0
    told(home, "cycle", "reader")
    archive = told(home, "archive", "list")[0]
    assert told(home, "archive", "show", str(archive["id"]))["preview"] is None
    none = tidegate("archive", "preview", str(archive["id"]), "x.png", home=home)
    sentence = f"Archive {archive['id']} has no preview picture: none was posted with it.\n"
    assert (none.returncode, none.stderr) == (3, sentence)
    assert tidegate("archive", "preview", "999", "x.png", home=home).returncode == 2
    assert not (home / "x.png").exists()
