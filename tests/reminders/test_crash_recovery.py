"""What a worker's death leaves behind, and what becomes of sends nobody knows the outcome of (claim-before-send)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from prometheus_client import REGISTRY

from tests.reminders.conftest import Scene, Shop
from tests.reminders.groups_platform import Killed, Recognising, Trouble
from tidegate.core.errors import NothingToDo, OutcomeUnknown
from tidegate.core.ids import ChannelId, RunId
from tidegate.platforms.interface.uploads import Arrived
from tidegate.reminders.queries import run_targets
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_controls import Resolution

TWO = [{"text": "first"}, {"text": "second"}]
DIES_AFTER = Trouble(Killed(), after=True)
DIES_BEFORE = Trouble(Killed())
SILENT = Trouble(OutcomeUnknown("The connection broke after the message had left."), after=True)


async def killed_at(
    scene: Scene, shop: Shop, send: int, trouble: Trouble, *, groups: int = 3, **written: object
) -> RunId:
    """Fire, and have the worker die with that send; the run it leaves behind."""
    await scene.groups(shop, groups)
    await scene.reminder(**written)
    shop.platform.troubles = [*[None] * (send - 1), trouble]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=30)
    assert shop.task is not None
    assert shop.task.done(), "it was not killed"
    await scene.leave(shop)
    return run


async def test_d20_no_own_id_unknown_after_a_kill(scene: Scene, forgetful: Shop) -> None:
    """D-20: killed after the platform accepted, before the answer: unknown, and exactly one delivery."""
    run = await killed_at(scene, forgetful, 2, DIES_AFTER)
    await scene.serve(forgetful)
    await scene.pass_time(minutes=10)
    assert await scene.counts(run) == {"sent": 2, "unknown": 1}
    assert (await scene.run(run)).state == "needs_attention"
    assert forgetful.platform.by_group() == {1: 1, 2: 1, 3: 1}


async def test_d21_resent_where_duplicates_are_removed(scene: Scene, shop: Shop) -> None:
    """D-21: the same kill where the platform knows the key: sent again, one delivery, the run ends well."""
    run = await killed_at(scene, shop, 2, DIES_AFTER)
    await scene.serve(shop)
    await scene.pass_time(minutes=10)
    assert (await scene.run(run)).status == "success"
    assert shop.platform.by_group() == {1: 1, 2: 1, 3: 1}


@pytest.mark.parametrize("trouble", [DIES_BEFORE, DIES_AFTER], ids=["before", "after"])
async def test_d15_a_kill_brings_no_send_forward(scene: Scene, shop: Shop, trouble: Trouble) -> None:
    """D-15: after a kill the next claim is at least an interval behind the last one."""
    run = await killed_at(scene, shop, 3, trouble, groups=20)
    await scene.serve(shop)
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "success"
    claims = [row["at"] for row in await scene.rows("SELECT at FROM calls WHERE charged ORDER BY at")]
    gaps = [later - earlier for earlier, later in pairwise(claims)]
    assert min(gaps) >= timedelta(seconds=60.5) / 40 - timedelta(microseconds=1)
    assert set(shop.platform.by_group().values()) == {1}


async def test_d22_a_late_receipt_settles_it(scene: Scene, forgetful: Shop) -> None:
    """D-22: unknown, then the platform says that it has arrived: sent, and the run ends."""
    run = await killed_at(scene, forgetful, 2, DIES_AFTER)
    await scene.serve(forgetful)
    await scene.pass_time(minutes=10)
    forgetful.platform.arrivals.put_nowait(Arrived(ChannelId(2), "3EB2", scene.clock.now()))
    await scene.pass_time(seconds=1)
    assert (await scene.run(run)).status == "success"
    assert len(forgetful.platform.delivered) == 3


@pytest.mark.parametrize("problem", [None, OutcomeUnknown("The answer was lost."), Killed()], ids=repr)
async def test_a_receipt_that_comes_before_the_answer_counts(
    scene: Scene, forgetful: Shop, problem: BaseException | None
) -> None:
    """Whatever becomes of the answer, the message has arrived: it is sent, once, and what follows it goes out too."""

    async def receipt_first() -> None:
        forgetful.platform.arrivals.put_nowait(Arrived(ChannelId(1), "3EB1", scene.clock.now()))
        await scene.clock.sleep(timedelta(seconds=5))

    await scene.groups(forgetful, 1)
    await scene.reminder(parts=TWO)
    forgetful.platform.troubles = [Trouble(problem, after=True, late=receipt_first)]
    run = await scene.fire()
    await scene.serve(forgetful)
    await scene.pass_time(minutes=1)
    if isinstance(problem, Killed):
        await scene.leave(forgetful)
        await scene.serve(forgetful)
        await scene.pass_time(minutes=10)
    assert await scene.parts(run, 1) == ["sent", "sent"]
    assert (await scene.run(run)).status == "success"
    assert forgetful.platform.texts(1) == ["first", "second"]
    [first, _] = await scene.rows("SELECT message, latency FROM run_parts ORDER BY number")
    assert (first["message"], first["latency"] is not None) == ("3EB1", problem is None)


async def test_a_receipt_of_a_try_that_is_to_be_repeated_counts(scene: Scene, forgetful: Shop) -> None:
    """The operator wants what is unknown sent again. The receipt comes while that waits: nobody gets it twice."""
    await scene.groups(forgetful, 1)
    await scene.reminder(when_unknown="resend")
    forgetful.platform.troubles = [SILENT]
    run = await scene.fire()
    await scene.serve(forgetful)
    while forgetful.platform.troubles:
        await scene.pass_time(milliseconds=100)
    assert await scene.parts(run, 1) == ["pending"]
    forgetful.platform.arrivals.put_nowait(Arrived(ChannelId(1), "3EB1", scene.clock.now()))
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "success"
    assert len(forgetful.platform.delivered) == 1
    assert [row["maybe_twice"] for row in await scene.rows("SELECT maybe_twice FROM run_parts")] == [""]


async def test_a_receipt_of_an_earlier_message_of_the_run_is_not_foreign(scene: Scene, forgetful: Shop) -> None:
    """It comes while the next one is on its way: it is ours, and changes nothing."""
    before = _foreign()

    async def receipt_of_the_first() -> None:
        forgetful.platform.arrivals.put_nowait(Arrived(ChannelId(1), "3EB1", scene.clock.now()))
        await scene.clock.sleep(timedelta(seconds=5))

    await scene.groups(forgetful, 1)
    await scene.reminder(parts=TWO)
    forgetful.platform.troubles = [None, Trouble(wait=receipt_of_the_first)]
    run = await scene.fire()
    await scene.serve(forgetful)
    await scene.pass_time(minutes=1)
    assert (await scene.run(run)).status == "success"
    assert _foreign() == before


async def test_a_receipt_of_another_message_settles_nothing(scene: Scene, forgetful: Shop) -> None:
    """The message was lost. Receipts in its group speak of another run's message, of one typed on the phone, and of one
    in another group: it stays unknown, they are counted, and nobody is told of a success."""
    await scene.groups(forgetful, 1)
    await scene.reminder(name="Earlier")
    await scene.serve(forgetful)
    earlier = await scene.fire("Earlier")
    await scene.pass_time(minutes=1)
    assert (await scene.run(earlier)).status == "success"
    await scene.reminder()
    forgetful.platform.troubles = [Trouble(OutcomeUnknown("no answer"))]
    run = await scene.fire()
    await scene.pass_time(minutes=5)
    before = _foreign()
    for channel, name in ((1, "3EB1"), (1, "AC99FROM-THE-PHONE"), (2, "3EB9")):
        forgetful.platform.arrivals.put_nowait(Arrived(ChannelId(channel), name, scene.clock.now()))
    await scene.pass_time(seconds=1)
    assert await scene.counts(run) == {"unknown": 1}
    assert (await scene.run(run)).state == "needs_attention"
    assert _foreign() - before == 2


def _foreign() -> float:
    return REGISTRY.get_sample_value("tidegate_foreign_receipts_total", {"platform": "whatsapp"}) or 0


async def test_d23_what_is_held_holds_its_own_group_only(scene: Scene, forgetful: Shop) -> None:
    """D-23: needs attention; the later part of that target waits, all other targets go on."""
    await scene.groups(forgetful, 3)
    await scene.reminder(parts=TWO)
    forgetful.platform.troubles = [SILENT]
    run = await scene.fire()
    await scene.serve(forgetful)
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).state == "needs_attention"
    assert await scene.parts(run, 1) == ["unknown", "pending"]
    assert await scene.counts(run) == {"sent": 2, "unknown": 1}
    assert "broke" in (await scene.errors(run))["Group 1"]


@pytest.mark.parametrize(
    ("resolution", "texts", "status"),
    [
        (Resolution.SENT, ["first", "second"], "success"),
        (Resolution.RESEND, ["first", "first", "second"], "success"),
        (Resolution.SKIP, ["first"], "partial"),
    ],
)
async def test_a_person_settles_it(
    scene: Scene, forgetful: Shop, resolution: Resolution, texts: list[str], status: str
) -> None:
    """``runs resolve``: it was sent and the rest follows, it is sent again, or it is left out with its rest."""
    await scene.groups(forgetful, 2)
    await scene.reminder(parts=TWO)
    forgetful.platform.troubles = [SILENT]
    run = await scene.fire()
    await scene.serve(forgetful)
    await scene.pass_time(minutes=5)
    await scene.do(run_controls.resolve, run, resolution, groups=["Group 1"])
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == status
    assert forgetful.platform.texts(1) == texts
    with pytest.raises(Exception, match="ended"):
        await scene.do(run_controls.resolve, run, resolution)


async def test_nothing_is_resolved_twice(scene: Scene, forgetful: Shop) -> None:
    """A run without anything unknown says so."""
    await scene.groups(forgetful, 2)
    await scene.reminder()
    run = await scene.fire()
    with pytest.raises(NothingToDo, match="unknown"):
        await scene.do(run_controls.resolve, run, Resolution.SENT)


@pytest.mark.parametrize(("policy", "deliveries"), [("assume_sent", 1), ("resend", 2)])
async def test_the_operators_policy_settles_it(scene: Scene, forgetful: Shop, policy: str, deliveries: int) -> None:
    """``when_unknown``: taken as sent, or sent again with the double the operator chose to risk."""
    run = await killed_at(scene, forgetful, 1, DIES_AFTER, when_unknown=policy)
    await scene.serve(forgetful)
    await scene.pass_time(minutes=10)
    assert (await scene.run(run)).status == "success"
    assert forgetful.platform.by_group()[1] == deliveries


@pytest.mark.parametrize(("age", "state"), [(30, "success"), (600, None)])
async def test_d24_a_nonce_holds_for_two_minutes(scene: Scene, age: int, state: str | None) -> None:
    """D-24: a claim 30 s old is sent again under its nonce and shows once; one 10 minutes old is unknown."""
    shop = await scene.shop(Recognising(scene.clock, recognises_for=timedelta(minutes=2)))
    run = await killed_at(scene, shop, 1, DIES_AFTER)
    await scene.pass_time(seconds=age - 30)
    await scene.serve(shop)
    await scene.pass_time(minutes=10)
    assert (await scene.run(run)).status == state
    assert shop.platform.by_group() == {1: 1, 2: 1, 3: 1}


async def test_a_doubt_that_grows_old_in_the_queue_is_not_resent(scene: Scene) -> None:
    """D-24: taken up in time but paused for longer than the platform recognises it: unknown, not doubled."""
    shop = await scene.shop(Recognising(scene.clock, recognises_for=timedelta(minutes=2)))
    run = await killed_at(scene, shop, 1, DIES_AFTER)
    await scene.do(run_controls.pause, run)
    await scene.serve(shop)
    await scene.pass_time(minutes=5)
    await scene.do(run_controls.resume, run)
    await scene.pass_time(minutes=5)
    assert await scene.counts(run) == {"sent": 2, "unknown": 1}
    assert shop.platform.by_group() == {1: 1, 2: 1, 3: 1}


@pytest.mark.parametrize("trouble", [DIES_BEFORE, DIES_AFTER], ids=["before", "after"])
async def test_d25_killed_between_two_parts(scene: Scene, shop: Shop, trouble: Trouble) -> None:
    """D-25: the target goes on with part 2 only."""
    run = await killed_at(scene, shop, 2, trouble, groups=1, parts=TWO)
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    assert (await scene.run(run)).status == "success"
    assert shop.platform.texts(1) == ["first", "second"]


async def test_d26_an_error_nobody_knows_is_never_resent(scene: Scene, forgetful: Shop) -> None:
    """D-26: the part is unknown with what was said, and stays so through a restart."""
    await scene.groups(forgetful, 1)
    await scene.reminder()
    forgetful.platform.troubles = [Trouble(RuntimeError("server returned error 999"), after=True)]
    run = await scene.fire()
    await scene.serve(forgetful)
    await scene.pass_time(minutes=5)
    await scene.leave(forgetful)
    await scene.serve(forgetful)
    await scene.pass_time(minutes=5)
    assert await scene.counts(run) == {"unknown": 1}
    assert "999" in (await scene.errors(run))["Group 1"]
    assert len(forgetful.platform.delivered) == 1


async def test_a_send_without_an_answer_is_repeated_under_its_key(scene: Scene, shop: Shop) -> None:
    """D-21: also when nobody died: where duplicates are removed, a broken answer costs a try and no double."""
    await scene.groups(shop, 2)
    await scene.reminder()
    shop.platform.troubles = [SILENT, SILENT]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "success"
    assert shop.platform.by_group() == {1: 1, 2: 1}


@pytest.mark.parametrize("how", ["policy", "policy after a kill", "person"])
async def test_a_double_that_was_risked_is_kept(scene: Scene, forgetful: Shop, how: str) -> None:
    """Which group may have the message twice, and why: in the run for as long as it is kept, and in the feed."""
    if how == "policy after a kill":
        run = await killed_at(scene, forgetful, 2, DIES_AFTER, when_unknown="resend")
    else:
        await scene.groups(forgetful, 3)
        await scene.reminder(when_unknown="resend" if how == "policy" else "hold")
        forgetful.platform.troubles = [None, SILENT]
        run = await scene.fire()
    await scene.serve(forgetful)
    await scene.pass_time(minutes=5)
    if how == "person":
        await scene.do(run_controls.resolve, run, Resolution.RESEND)
        await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "success"
    assert forgetful.platform.by_group() == {1: 1, 2: 2, 3: 1}
    async with scene.database.connection() as connection:
        shown = {one.title: one.maybe_twice for one in await run_targets.of_run(connection, run)}
    why = "Its worker ended while" if how == "policy after a kill" else "The connection broke after"
    assert {title for title, twice in shown.items() if twice} == {"Group 2"}
    assert shown["Group 2"].startswith(why)
    [event] = await scene.events("run.resent")
    assert (event["run"], event["target"], event["why"]) == (run, "Group 2", shown["Group 2"])
