"""Trouble of the machine, or of what many sets share, is no fault of a set: it keeps its tries, and goes on."""

from __future__ import annotations

import asyncio
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.archives.archive_events import told
from tests.archives.filing_scene import Scene
from tests.archives.zip_writer import zipped
from tests.scenes.telegram_mirror import Mirror
from tests.waiting import until
from tidegate.archives.documents import archive_shown
from tidegate.archives.failures import failing_as
from tidegate.archives.filing.filing_context import FilingPolicy
from tidegate.archives.filing.queues import FilingLoop, FilingResult
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.archives.rules.retry import FailureReason
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Banned, NotSent
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.problems.problem import ProblemKind, ProblemLimits
from tidegate.problems.problem_list import problems

MIB = 1024 * 1024
FULL = 1 << 62
"""A reserve that leaves no room on any disk."""

FORBIDDEN = "403 CHAT_WRITE_FORBIDDEN"


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> Scene:
    """A channel whose archives are copied into another."""
    source, vault = world.add_channel("Models"), world.add_channel("Vault")
    await mirror.sync()
    await mirror.enable(source, destination=vault)
    return Scene(mirror, source, vault, tmp_path / "work")


@pytest.fixture
async def protected(scene: Scene) -> Scene:
    """The same, where the source lets nothing be copied, so that everything goes over the disk."""
    scene.source.protected = True
    await scene.mirror.sync()
    return scene


async def notices(scene: Scene) -> list[str]:
    pauses = ("filing.paused", "filing.resumed", "destination.closed", "destination.opened")
    return [kind for kind, _ in await told(scene, *pauses)]


async def states(scene: Scene) -> set[str]:
    return {row["state"] for row in await scene.archives()}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """This process may write no larger file: the system itself refuses what lies beyond, as a quota does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# The disk


async def test_a_full_disk_uses_no_try_and_room_made_later_helps_everybody(protected: Scene) -> None:
    """Days without room: no set has failed, one notice was given, and then all of them go on by themselves."""
    await protected.found(*[protected.world.add_file(f"{number}.pdf", 2 * MIB + number) for number in range(6)])
    protected.reserve = FULL
    async with protected.mirror.counted() as calls:
        for _ in range(8):
            assert await protected.file() == FilingResult(paused=True)
            await protected.mirror.pass_time(hours=6)
            await protected.mirror.cycle()
    assert calls["upload.getFile"] == 0
    assert (await protected.failures(), await states(protected)) == ([], {"waiting"})
    [(kind, data)] = await told(protected, "filing.paused", "filing.resumed")
    assert (kind, "Make room" in data["sentence"]) == ("filing.paused", True)
    protected.reserve = 0
    assert await protected.file() == FilingResult(filed=6)
    assert await notices(protected) == ["filing.paused", "filing.resumed"]
    assert (len(protected.delivered), await states(protected), protected.lying) == (6, {"filed"}, [])


async def test_what_the_disk_refuses_in_the_middle_is_kept_and_gone_on_with(protected: Scene) -> None:
    """The system refuses a block: no try is used up, and afterwards only what is missing is fetched."""
    file = protected.world.add_file("big.pdf", 12 * MIB)
    await protected.found(file)
    async with protected.mirror.counted() as calls:
        with files_of_at_most(5 * MIB):
            assert await protected.file() == FilingResult(left=1, paused=True)
            assert await protected.file() == FilingResult(paused=True)
    fetched, in_flight = calls["upload.getFile"], 4
    assert fetched <= 5 + in_flight
    assert (await protected.failures(), await states(protected)) == ([], {"waiting"})
    assert protected.lying != []
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(filed=1)
    assert calls["upload.getFile"] <= 12 - (fetched - in_flight)
    assert [posted.sha256() for posted in protected.delivered] == [file.sha256()]
    assert await notices(protected) == ["filing.paused", "filing.resumed"]


async def test_a_full_disk_stops_only_what_needs_it(protected: Scene) -> None:
    """What is copied on the server moves no byte, and goes on."""
    other = protected.world.add_channel("Open")
    await protected.mirror.sync()
    await protected.mirror.enable(other, destination=protected.vault)
    protected.world.post(other, file=protected.world.add_content("b.zip", zipped("b.stl")))
    protected.reserve = FULL
    await protected.found(protected.world.add_file("a.pdf", 3 * MIB))
    assert await protected.file() == FilingResult(filed=1, paused=True)
    assert (protected.lying, [file.name for file in protected.delivered]) == ([], ["b.zip"])


async def test_a_set_too_large_for_the_disk_holds_up_no_smaller_one(protected: Scene) -> None:
    """Room is what each set needs, not what the largest does."""
    await protected.found(protected.world.add_file("huge.pdf", 1 << 45), protected.world.add_file("small.pdf", 10))
    protected.reserve = shutil.disk_usage(protected.folder.parent).free - (1 << 30)
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(filed=1, paused=True)
    assert calls["upload.getFile"] == 1
    assert [file.name for file in protected.delivered] == ["small.pdf"]
    assert await protected.failures() == []


async def test_a_folder_that_cannot_be_used_is_no_failure_of_a_set(protected: Scene) -> None:
    """Whatever the system minds about the folder, the sets wait; once it is put right they go on."""
    protected.folder.write_text("a file lies where the folder should be")
    await protected.found(protected.world.add_file("a.pdf", 10))
    assert await protected.file() == FilingResult(left=1, paused=True)
    assert (await protected.failures(), await states(protected)) == ([], {"waiting"})
    [(_, data)] = await told(protected, "filing.paused")
    assert str(protected.folder.parent) in data["sentence"]
    protected.folder.unlink()
    assert await protected.file() == FilingResult(filed=1)


async def test_what_waits_for_room_says_so(protected: Scene) -> None:
    """The list gives the reason, the page of one archive the sentence, and Home what to do."""
    await protected.found(protected.world.add_file("a.pdf", 3 * MIB))
    protected.reserve = FULL
    await protected.file()
    [archive] = await protected.archives()
    async with protected.mirror.database.connection() as connection:
        shown = await archive_shown(connection, archive["id"])
        waiting = await problems(connection, ProblemLimits())
    assert (shown.state, shown.reason, shown.attempts, shown.next_try_at) == ("waiting", "disk_full", 0, None)
    assert "room" in (shown.waits_for or "")
    assert ProblemKind.ARCHIVES_WAIT in {one.kind for one in waiting}
    protected.reserve = 0
    await protected.file()
    async with protected.mirror.database.connection() as connection:
        assert (await archive_shown(connection, archive["id"])).reason is None
        after = await problems(connection, ProblemLimits())
    assert ProblemKind.ARCHIVES_WAIT not in {one.kind for one in after}


async def test_nobody_has_to_say_that_there_is_room_again(protected: Scene) -> None:
    """A worker looks by itself, without a cycle in between."""
    await protected.found(protected.world.add_file("a.pdf", 10))
    protected.folder.write_text("in the way")
    policy = FilingPolicy(protected.retries, WorkFolder(protected.folder, reserve=0, host="this machine"))
    soon = timedelta(milliseconds=20)
    lane = protected.mirror.lane
    assert lane is not None
    filer = FilingLoop(protected.mirror.database, SystemClock(), policy, beside_cycles=True, look_every=soon)
    working = asyncio.create_task(filer.work(lane))
    await filer.after_cycle(lane)

    async def paused() -> bool:
        return await notices(protected) == ["filing.paused"]

    async def filed() -> bool:
        return await states(protected) == {"filed"}

    try:
        await until(paused)
        protected.folder.unlink()
        await until(filed)
    finally:
        working.cancel()
        await asyncio.wait([working])


def test_a_database_that_is_away_is_no_failure_of_a_set() -> None:
    """A send that was not made because the database did not answer says nothing about the set."""
    with pytest.raises(ConnectionResetError), failing_as(FailureReason.UPLOAD, into=True):
        raise NotSent("The database did not answer.") from ConnectionResetError()


# A closed destination


@pytest.mark.parametrize("said", [FORBIDDEN, "400 CHAT_SEND_DOCS_FORBIDDEN", "400 CHANNEL_PRIVATE", "400 TOPIC_CLOSED"])
async def test_a_closed_destination_is_learnt_once(protected: Scene, said: str) -> None:
    """Twenty sets, two days: a few sends, one download, one notice, no failure; opened, all of them arrive."""
    await protected.found(*[protected.world.add_file(f"{number}.pdf", 10_000 + number) for number in range(20)])
    protected.world.faults.add(Fault(FaultKind.ERROR, "messages.sendMedia", code=said, count=1_000))
    async with protected.mirror.counted() as calls:
        for _ in range(48):
            assert (await protected.file()).failed == 0
            await protected.mirror.pass_time(hours=1)
    assert calls["messages.sendMedia"] <= 15
    assert calls["upload.getFile"] == 1
    assert (await protected.failures(), await states(protected)) == ([], {"waiting"})
    [(kind, data)] = await told(protected, "destination.closed", "destination.opened")
    assert (kind, "Vault" in data["sentence"]) == ("destination.closed", True)
    protected.world.faults.clear()
    await protected.mirror.pass_time(hours=7)
    assert await protected.file() == FilingResult(filed=20)
    assert await notices(protected) == ["destination.closed", "destination.opened"]


async def test_a_right_that_is_known_to_be_lacking_costs_no_send(scene: Scene) -> None:
    """The list of channels says that the account may not post: nothing is sent, and a look now and then finds out."""
    scene.vault.writers = {-1}
    await scene.mirror.sync()
    await scene.found(*[scene.world.add_content(f"{n}.zip", zipped("gate.stl")) for n in range(3)])
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(left=1, paused=True)
        for _ in range(5):
            assert await scene.file() == FilingResult(paused=True)
    assert calls == {}
    await scene.mirror.pass_time(hours=1)
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(paused=True)
    assert calls == {"messages.getPeerDialogs": 1}
    scene.vault.writers = set()
    await scene.mirror.pass_time(hours=7)
    assert await scene.file() == FilingResult(filed=3)
    assert await scene.failures() == []
    assert await notices(scene) == ["destination.closed", "destination.opened"]


async def test_a_granted_right_is_used_at_once(scene: Scene) -> None:
    """The operator lets the account write and syncs: nobody waits for the next look."""
    scene.vault.writers = {-1}
    await scene.mirror.sync()
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    await scene.file()
    scene.vault.writers = set()
    await scene.mirror.sync()
    assert await scene.file() == FilingResult(filed=1)


async def test_a_closed_destination_holds_up_no_other(scene: Scene, world: World) -> None:
    """Sets for another destination go on in the same turn."""
    other, second = world.add_channel("Open"), world.add_channel("Second vault")
    await scene.mirror.sync()
    await scene.mirror.enable(other, destination=second)
    scene.vault.writers = {-1}
    await scene.mirror.sync()
    world.post(other, file=world.add_content("b.zip", zipped("b.stl")))
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    assert await scene.file() == FilingResult(filed=1, left=1, paused=True)
    assert [message.file.name for message in second.messages.values() if message.file] == ["b.zip"]


async def test_what_waits_for_its_destination_says_so(scene: Scene) -> None:
    """The list gives the reason, and the sentence says what to do."""
    scene.vault.writers = {-1}
    await scene.mirror.sync()
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    await scene.file()
    [archive] = await scene.archives()
    async with scene.mirror.database.connection() as connection:
        shown = await archive_shown(connection, archive["id"])
        waiting = await problems(connection, ProblemLimits())
    assert (shown.state, shown.reason, shown.next_try_at) == ("waiting", "destination_closed", None)
    assert "Vault" in (shown.waits_for or "")
    assert [one.kind for one in waiting].count(ProblemKind.ARCHIVES_WAIT) == 1


async def test_a_destination_that_nobody_wants_any_more_is_forgotten(scene: Scene) -> None:
    """The operator chose another one: the notice ends with the wish."""
    scene.vault.writers = {-1}
    await scene.mirror.sync()
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    await scene.file()
    await scene.mirror.enable(scene.source)
    assert await scene.file() == FilingResult(filed=1)
    assert await scene.mirror.rows("SELECT FROM closed_destinations") == []


# A closed source


async def test_a_closed_source_is_no_failure_of_its_sets(protected: Scene) -> None:
    """The account was put out of the channel: one call finds out, and the sets keep their tries."""
    files = [protected.world.add_file(f"{number}.pdf", 10) for number in range(5)]
    await protected.found(*files)
    for file in files:
        file.generation += 1
    protected.world.faults.add(Fault(FaultKind.ERROR, "channels.getMessages", code="400 CHANNEL_PRIVATE", count=100))
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(left=1)
    assert calls["channels.getMessages"] == 1
    assert await protected.failures() == []
    protected.world.faults.clear()
    assert await protected.file() == FilingResult(filed=5)


# A stopped account


@pytest.mark.parametrize("method", ["upload.getFile", "upload.saveFilePart", "messages.sendMedia"])
@pytest.mark.parametrize(
    "said",
    ["420 FROZEN_METHOD_INVALID", "400 FROZEN_PARTICIPANT_MISSING", "403 USER_RESTRICTED", "401 USER_DEACTIVATED_BAN"],
)
async def test_an_account_that_is_stopped_is_no_failure_of_a_set(protected: Scene, method: str, said: str) -> None:
    """One call finds out, no set uses up a try, the account says what is wrong; resumed, it goes on where it was."""
    await protected.found(*[protected.world.add_file(f"{number}.pdf", 10_000 + number) for number in range(3)])
    protected.world.faults.add(Fault(FaultKind.ERROR, method, code=said, count=100))
    async with protected.mirror.counted() as calls:
        with pytest.raises(Banned):
            await protected.file()
    assert calls[method] == 1
    assert await protected.failures() == []
    [account] = await protected.mirror.rows("SELECT state, state_why FROM accounts")
    assert account["state"] in ("paused", "banned")
    assert said.split()[1] in account["state_why"]
    protected.world.faults.clear()
    await protected.mirror.rows("UPDATE accounts SET state = 'active'")
    await protected.mirror.connect()
    assert await protected.file() == FilingResult(filed=3)
