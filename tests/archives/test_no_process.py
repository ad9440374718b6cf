"""A machine that cannot start the process which reads archives: no fault of theirs, told once, gone on by itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.archives.archive_events import told
from tests.archives.filing_scene import Scene
from tests.archives.zip_writer import zipped
from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.documents import archive_shown
from tidegate.loopback.telegram import World
from tidegate.problems.problem import ProblemLimits
from tidegate.problems.problem_list import problems


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> Scene:
    """Three archives that were found and not read yet."""
    source = world.add_channel("Models")
    await mirror.sync()
    await mirror.enable(source)
    for number in range(3):
        world.post(source, file=world.add_content(f"{number}.zip", zipped(f"{number}.stl")))
    await mirror.cycle()
    return Scene(mirror, source, source, tmp_path / "work")


@pytest.fixture
def not_a_program(tmp_path: Path) -> str:
    path = tmp_path / "python"
    path.write_bytes(bytes(range(200)))
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", "not a program"])
async def test_it_uses_no_try_and_is_told_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, program: str, not_a_program: str
) -> None:
    """Missing, of another machine's kind, or dead before it began: the archives wait, say why, and go on."""
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", not_a_program if program == "not a program" else program)
        for _ in range(8):
            await scene.index()
    assert (await scene.failures(), {row["state"] for row in await scene.archives()}) == ([], {"waiting"})
    [(_, data)] = await told(scene, "reading.paused", "reading.resumed")
    assert "cannot be started" in data["sentence"]
    async with scene.mirror.database.connection() as connection:
        shown = await archive_shown(connection, (await scene.archives())[0]["id"])
        waiting = await problems(connection, ProblemLimits())
    assert (shown.reason, shown.attempts, shown.waits_for) == ("no_process", 0, data["sentence"])
    assert data["sentence"] in {problem.what for problem in waiting}
    await scene.index()
    assert [kind for kind, _ in await told(scene, "reading.paused", "reading.resumed")] == [
        "reading.paused", "reading.resumed",
    ]  # fmt: skip
    assert {row["indexed_at"] is None for row in await scene.archives()} == {False}
