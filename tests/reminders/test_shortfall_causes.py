"""What a run says of why it did not get further: capacity only where capacity was the cause."""

from __future__ import annotations

from datetime import timedelta

from tests.reminders.conftest import Scene, Shop
from tidegate.lanes.rules.send_caps import Caps, WarmUp
from tidegate.lanes.rules.slowdown_after_warning import Allowance, burst_warning
from tidegate.reminders.queries import reminders
from tidegate.reminders.reminder_estimate import ReminderEstimate, estimate_plan
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_plan import make_plan

ADVICE = "This account is at capacity for this fan-out"


async def until_closed(scene: Scene) -> None:
    """The window closes at ten, and whoever serves has looked at it."""
    await scene.pass_time(minutes=2)


async def test_a_daily_limit_is_capacity(scene: Scene, shop: Shop) -> None:
    """An account that may send no more that day is at capacity, however slowly it sent; sends of before count."""
    await scene.groups(shop, 30)
    await scene.reminder(delivery_window_end_hour=10)
    await scene.serve(shop, caps=Caps(per_day=40))
    first = await scene.fire()
    await scene.pass_time(minutes=5)
    assert (await scene.run(first)).status == "success"
    second = await scene.fire()
    await scene.pass_time(minutes=55)
    await until_closed(scene)
    assert (await scene.counts(second))["sent"] == 10
    assert ADVICE in (await scene.run(second)).error_summary


async def test_an_estimate_counts_what_the_day_has_taken_already(scene: Scene, shop: Shop) -> None:
    """Of twenty sends a day fifteen are made, so five fit today, and what happens then is what was foreseen."""
    await scene.groups(shop, 15)
    await scene.reminder(delivery_window_end_hour=10)
    warming = {"warm_up": WarmUp(first_day=20)}
    await scene.serve(shop, **warming)
    await scene.fire()
    await scene.pass_time(minutes=5)
    async with scene.database.connection() as connection:
        kept = await reminders.find(connection, "Friday stock")
        plan = await make_plan(connection, kept, at=kept.now)
        told = await estimate_plan(connection, plan, Allowance(ceiling=40, **warming))
    assert (told.estimate.fits, told.estimate.short_by) == (False, 10)
    run = await scene.fire()
    await scene.pass_time(minutes=57)
    assert await scene.counts(run) == {"sent": 5, "skipped": 10}


async def test_warming_up_is_capacity(scene: Scene, shop: Shop) -> None:
    """A young account that has used up its first day's few sends is at capacity."""
    await scene.groups(shop, 30)
    await scene.reminder(delivery_window_end_hour=10)
    await scene.serve(shop, warm_up=WarmUp(first_day=20))
    run = await scene.fire()
    await scene.pass_time(hours=1)
    await until_closed(scene)
    assert (await scene.counts(run))["sent"] == 20
    assert ADVICE in (await scene.run(run)).error_summary


async def test_a_run_behind_another_that_took_it_all_is_told_of_capacity(scene: Scene, shop: Shop) -> None:
    """The account was busy to the close, if not with this run."""
    await scene.groups(shop, 100)
    await scene.reminder(delivery_window_end_hour=10)
    await scene.serve(shop)
    await scene.pass_time(minutes=58)
    await scene.fire()
    second = await scene.fire()
    await scene.pass_time(minutes=2)
    await until_closed(scene)
    ended = await scene.run(second)
    assert (ended.status, await scene.counts(second)) == ("failed", {"skipped": 100})
    assert ADVICE in ended.error_summary


async def test_a_pause_before_the_first_send_is_named(scene: Scene, shop: Shop) -> None:
    """Paused from before the window opened until shortly before its close: that pause was the cause, and no other."""
    await scene.groups(shop, 200)
    await scene.reminder(delivery_window_start_hour=11, delivery_window_end_hour=13)
    await scene.serve(shop)
    run = await scene.fire()  # it is nine
    await scene.do(run_controls.pause, run)
    await scene.pass_time(hours=3, minutes=58)
    await scene.do(run_controls.resume, run)
    await scene.pass_time(minutes=2)
    await until_closed(scene)
    ended = await scene.run(run)
    assert ended.status == "partial"
    assert ended.error_summary.endswith("It was paused for 1h58m.")


async def test_nobody_serving_the_account_is_named(scene: Scene, shop: Shop) -> None:
    """A firing of nine o'clock that is taken up at four minutes to ten was not short of pace."""
    await scene.groups(shop, 500)
    await scene.reminder(delivery_window_end_hour=10, schedule={"cron": "1 9 * * *"})
    await scene.clock.advance(timedelta(minutes=56))
    await scene.serve(shop)
    await scene.pass_time(minutes=4)
    await until_closed(scene)
    [row] = await scene.rows("SELECT status, error_summary FROM runs")
    assert row["status"] == "partial"
    assert row["error_summary"].endswith("the account was not served, or its platform asked it to wait.")


async def test_a_paused_run_stands_before_nobody(scene: Scene, shop: Shop) -> None:
    """An estimate does not count it, and says so: it would be sent first if somebody resumed it."""
    await scene.groups(shop, 30)
    await scene.reminder(name="older")
    await scene.reminder(name="newer")
    older = await scene.fire("older")
    assert (await _foreseen(scene, "newer")).queued == 30
    await scene.do(run_controls.pause, older)
    foreseen = await _foreseen(scene, "newer")
    assert (foreseen.queued, foreseen.estimate.fits) == (0, True)
    assert foreseen.warnings == [
        f"Run {older} is paused with 30 messages left, which are not counted; resumed, it is sent before this."
    ]


async def test_a_burst_is_warned_about(scene: Scene, shop: Shop) -> None:
    """send_burst above 1 is the operator's own risk; the estimate names it."""
    await scene.groups(shop, 3)
    await scene.reminder()
    assert (await _foreseen(scene, "Friday stock")).warnings == []
    [warning] = (await _foreseen(scene, "Friday stock", burst=5)).warnings
    assert warning == burst_warning(5)


async def test_a_run_says_behind_which_one_it_waits(scene: Scene, shop: Shop) -> None:
    """One run at a time per account: the second says so for as long as the first has something to send."""
    await scene.groups(shop, 100)
    await scene.reminder(name="older")
    await scene.reminder(name="newer")
    older, newer = await scene.fire("older"), await scene.fire("newer")
    await scene.serve(shop)
    await scene.pass_time(seconds=30)
    assert [(await scene.run(one)).behind for one in (older, newer)] == [None, older]
    await scene.do(run_controls.pause, older)
    assert (await scene.run(newer)).behind is None
    await scene.do(run_controls.resume, older)
    await scene.pass_time(minutes=10)
    assert [(await scene.run(one)).behind for one in (older, newer)] == [None, None]


async def _foreseen(scene: Scene, name: str, **allowance: int) -> ReminderEstimate:
    async with scene.database.connection() as connection:
        plan = await make_plan(connection, await reminders.find(connection, name), at=scene.clock.now())
        return await estimate_plan(connection, plan, Allowance(ceiling=40, **allowance))
