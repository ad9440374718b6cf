"""Runs inside their window, and what becomes of the rest when it closes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.reminders.conftest import MORNING, Scene, Shop

KL = "Asia/Kuala_Lumpur"
TWO = [{"text": "first"}, {"text": "second"}]


async def test_d02_a_run_fired_at_night_waits_for_the_morning(scene: Scene, shop: Shop) -> None:
    """D-02: fired at 04:00 with a window from 6, the first send is at or after 06:00."""
    await scene.groups(shop, 3)
    await scene.reminder(timezone="Pacific/Auckland", delivery_window_start_hour=23, delivery_window_end_hour=24)
    run = await scene.fire()  # it is 22:00 there
    await scene.serve(shop)
    await scene.pass_time(minutes=59)
    assert (await scene.run(run)).state == "waiting"
    assert shop.platform.delivered == []
    await scene.pass_time(minutes=10)
    assert shop.platform.delivered[0].at >= MORNING + timedelta(hours=1)
    assert (await scene.run(run)).status == "success"


@pytest.mark.parametrize("closes", ["stop", "resume_next"])
async def test_d08_fired_after_close_with_stop_sends_nothing(scene: Scene, shop: Shop, closes: str) -> None:
    """D-08: every part skipped, the run failed with zero sent, and no word of capacity; whatever a close means else."""
    await scene.groups(shop, 3)
    await scene.reminder(delivery_window_end_hour=9, parts=TWO, when_window_closes=closes)
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(hours=30)
    ended = await scene.run(run)
    assert (ended.state, ended.status) == ("ended", "failed")
    assert ended.error_summary == "Delivery window closed at 09:00 (UTC). 0 of 3 groups delivered."
    assert await scene.parts(run, 1) == ["skipped", "skipped"]
    assert set((await scene.errors(run)).values()) == {"delivery window closed"}
    assert shop.platform.calls == 0


async def test_d09_fired_after_close_with_resume_next_waits(scene: Scene, shop: Shop) -> None:
    """D-09: the run waits, nothing is skipped, and it starts in the next window."""
    await scene.groups(shop, 3)
    await scene.reminder(delivery_window_end_hour=9, when_fired_late="resume_next")
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(hours=20)
    assert (await scene.run(run)).state == "waiting"
    assert await scene.counts(run) == {"pending": 3}
    await scene.pass_time(hours=2)
    assert (await scene.run(run)).status == "success"
    assert shop.platform.delivered[0].at >= datetime(2026, 3, 3, 6, tzinfo=UTC)


async def test_d10_a_begun_target_may_finish(scene: Scene, shop: Shop) -> None:
    """D-10: the window closes after part 1 of 2; part 2 follows within 60 s, and part 1 is not repeated."""
    await scene.groups(shop, 5)
    await scene.reminder(delivery_window_end_hour=10, parts=TWO)
    await scene.serve(shop)
    await scene.pass_time(minutes=59, seconds=55)
    run = await scene.fire()
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "partial"
    late = [one for one in shop.platform.delivered if one.at >= MORNING + timedelta(hours=1)]
    assert late
    assert all(one.text == "second" and one.at < MORNING + timedelta(hours=1, seconds=60) for one in late)
    for group, count in shop.platform.by_group().items():
        assert shop.platform.texts(group) == ["first", "second"], count


async def test_d10_strict_leaves_the_rest_for_the_next_window(scene: Scene, shop: Shop) -> None:
    """D-10: with "strict" nothing is sent after the close; part 2 is pending and comes the next day, part 1 once."""
    await scene.groups(shop, 3)
    await scene.reminder(
        delivery_window_end_hour=10, parts=TWO, begun_target="strict", when_window_closes="resume_next"
    )
    await scene.serve(shop)
    await scene.pass_time(minutes=59, seconds=57)
    run = await scene.fire()
    await scene.pass_time(minutes=30)
    assert (await scene.run(run)).state == "waiting"
    assert ["sent", "pending"] in [await scene.parts(run, number) for number in (1, 2, 3)]
    assert all(one.at < MORNING + timedelta(hours=1) for one in shop.platform.delivered)
    await scene.pass_time(hours=24)
    assert (await scene.run(run)).status == "success"
    assert [shop.platform.texts(group) for group in (1, 2, 3)] == [["first", "second"]] * 3


async def test_d11_the_rest_follows_the_next_day(scene: Scene, shop: Shop) -> None:
    """D-11: what the window shut out is sent in the next one, no target twice."""
    await scene.groups(shop, 60)
    await scene.reminder(delivery_window_end_hour=10, when_window_closes="resume_next")
    await scene.serve(shop)
    await scene.pass_time(minutes=59)
    run = await scene.fire()
    await scene.pass_time(minutes=10)
    first_day = len(shop.platform.delivered)
    assert 35 <= first_day <= 40
    assert (await scene.run(run)).state == "waiting"
    await scene.pass_time(hours=24)
    assert len(shop.platform.delivered) == 60
    assert set(shop.platform.by_group().values()) == {1}
    assert (await scene.run(run)).status == "success"


async def test_the_summary_names_capacity_only_when_it_was_the_cause(scene: Scene, shop: Shop) -> None:
    """The seed's sentence, word for word, when the pace was used up; a pause is named as what it is."""
    await scene.groups(shop, 100)
    await scene.reminder(delivery_window_end_hour=10, timezone="UTC")
    await scene.serve(shop)
    await scene.pass_time(minutes=58)
    run = await scene.fire()
    await scene.pass_time(minutes=5)
    sent = len(shop.platform.delivered)
    ended = await scene.run(run)
    assert ended.status == "partial"
    assert ended.error_summary == (
        f"Delivery window closed at 10:00 (UTC). {sent} of 100 groups delivered. This account is at capacity for this "
        "fan-out — consider sending the remainder from another paired account."
    )
    [fired] = await scene.events("reminder.fired")
    assert (fired["status"], fired["body"]) == ("partial", f"{sent} of 100 delivered")
    assert await scene.counts(run) == {"sent": sent, "skipped": 100 - sent}
