"""What a firing sends, worked out before anything is sent; and firings that come by themselves."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from tests.reminders.conftest import MORNING, Scene, Shop
from tests.reminders.groups_platform import Recognising, Trouble
from tests.reminders.parse_count import counted_parses
from tidegate.channels.queries import channels
from tidegate.core.errors import BadInput, OutcomeUnknown
from tidegate.core.ids import ChannelId
from tidegate.core.platform import Platform
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.platforms.whatsapp.group_ids import number_of
from tidegate.reminders import reminder_changes
from tidegate.reminders.documents import estimate_shown
from tidegate.reminders.queries import reminders, target_lists
from tidegate.reminders.reminder_estimate import ReminderEstimate, estimate_plan
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_plan import MOST_MESSAGES, RunPlan, make_plan

BESIDES = ("BEGIN", "COMMIT", "NOTIFY", "WITH RECURSIVE typeinfo_tree", "INSERT INTO calls", "SELECT pg_current")
TWO = [{"text": "first"}, {"text": "second"}]


async def planned(scene: Scene, name: str = "Friday stock") -> RunPlan:
    async with scene.database.connection() as connection:
        kept = await reminders.find(connection, name)
        return await make_plan(connection, kept, at=kept.now)


async def foreseen(scene: Scene, rate: int, name: str = "Friday stock") -> ReminderEstimate:
    plan = await planned(scene, name)
    async with scene.database.connection() as connection:
        return await estimate_plan(connection, plan, Allowance(ceiling=rate))


async def test_d40_a_group_it_may_not_post_in_is_flagged_before_any_send(scene: Scene, shop: Shop) -> None:
    """D-40: flagged in the plan, failed in the run without a call; the other groups get theirs."""
    await scene.groups(shop, 3, barred=(2,))
    await scene.reminder(targets=["Group 1", "Group 2", "3"])
    assert [warning for warning in (await planned(scene)).warnings if "may not post" in warning]
    run = await scene.fire()
    assert await scene.counts(run) == {"pending": 2, "failed": 1}
    await scene.serve(shop)
    await scene.pass_time(minutes=1)
    assert shop.platform.by_group() == {1: 1, 3: 1}
    assert (await scene.run(run)).status == "partial"


async def test_d43_the_estimate_warns_before_it_is_scheduled(scene: Scene, shop: Shop) -> None:
    """D-43: 1000 groups, 2 parts, 20 a minute, 60 minutes: 1,190 fit, 810 short; two accounts would do."""
    await scene.groups(shop, 1000)
    await scene.reminder(parts=TWO, delivery_window_start_hour=9, delivery_window_end_hour=10)
    told = await foreseen(scene, 20)
    shown = asdict(estimate_shown(told))
    assert (shown["targets"], shown["sends"], shown["fits"], shown["short_by"]) == (1000, 2000, False, 810)
    assert shown["windows"][0]["sends"] == 1190
    assert any("1190 of 2000" in warning and "2 accounts" in warning for warning in told.warnings)
    await scene.fire()
    assert (await foreseen(scene, 20)).queued == 2000


async def test_an_estimate_goes_on_into_further_windows(scene: Scene, shop: Shop) -> None:
    """With resume_next the rest has its place in the windows to come, and the estimate says when it ends."""
    await scene.groups(shop, 1000)
    hours = {"delivery_window_start_hour": 9, "delivery_window_end_hour": 10}
    await scene.reminder(parts=TWO, when_window_closes="resume_next", **hours)
    shown = asdict(estimate_shown(await foreseen(scene, 20)))
    assert (shown["fits"], [one["sends"] for one in shown["windows"]]) == (True, [1190, 810])
    assert shown["finishes_at"].startswith("2026-03-03T09:")


async def test_groups_come_in_the_order_of_their_numbers(scene: Scene, shop: Shop) -> None:
    """Where nobody named them one by one: "Group 2" is sent to before "Group 10"."""
    await scene.groups(shop, 11)
    await scene.reminder()
    assert [one.title for one in (await planned(scene)).targets] == [f"Group {number}" for number in range(1, 12)]


async def test_a_run_has_only_so_many_messages(scene: Scene, shop: Shop) -> None:
    """What nobody could mean, and no memory could hold, is refused before it is worked out."""
    await scene.groups(shop, 101)
    await scene.reminder(parts=[{"text": "x"}] * (MOST_MESSAGES // 100))
    with pytest.raises(BadInput, match=r"would be 101,000 messages, to 101 groups; a run has 100,000 at most"):
        await planned(scene)
    with pytest.raises(BadInput, match="a run has 100,000 at most"):
        await scene.fire()


async def test_d44_a_placeholder_nothing_fills_refuses_the_run(scene: Scene, shop: Shop) -> None:
    """D-44: refused when it is saved; and one that got into the store refuses the firing, with no send."""
    await scene.groups(shop, 3)
    with pytest.raises(BadInput, match=r"\{price\}"):
        await scene.reminder(parts=[{"text": "It costs {price}"}])
    await scene.reminder(schedule={"every": "hour"})
    await scene.rows("UPDATE reminders SET written = jsonb_set(written, '{parts,0,text}', '\"It costs {price}\"')")
    with pytest.raises(BadInput, match=r"\{price\}"):
        await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=61)
    [run] = await scene.rows("SELECT state, status, error_summary FROM runs")
    assert (run["state"], run["status"]) == ("ended", "failed")
    assert "{price}" in run["error_summary"]
    assert shop.platform.calls == 0


@pytest.mark.parametrize(
    ("platform", "parts", "told"),
    [
        (TELEGRAM, [{"media": "a.jpg", "caption": "x" * 1_025}], "1025 characters, and Telegram takes 1024"),
        (DISCORD, [{"text": "x" * 2_001}], "2001 characters, and Discord takes 2000"),
        (
            DISCORD,
            [{"text": "hello"}, {"media": "a.jpg"}],
            'Message 2 .* 10.1 MiB, and "Group 1", the most generous of its 3 groups, takes 10 MiB',
        ),
    ],
)
async def test_what_the_platform_takes_in_no_group_refuses_the_run(
    scene: Scene, platform: Platform, parts: list[dict[str, str]], told: str
) -> None:
    """Known before the first send, in estimate, dry run and firing alike: a thousand groups need not refuse it each."""
    shop = await scene.shop(Recognising(scene.clock), on=platform)
    await scene.groups(shop, 3)
    files = {"a.jpg": bytes((10 << 20) + 1)} if any("media" in part for part in parts) else {}
    await scene.reminder(parts=parts, files=files)
    for tried in (planned(scene), foreseen(scene, 40), scene.fire()):
        with pytest.raises(BadInput, match=told):
            await tried
    assert await scene.rows("SELECT FROM runs") == []


async def test_a_text_too_long_with_one_groups_name_fails_that_group(scene: Scene) -> None:
    """The others get theirs."""
    shop = await scene.shop(Recognising(scene.clock), on=DISCORD)
    await scene.groups(shop, 10)
    await scene.reminder(parts=[{"text": "x" * 1_993 + "{group}"}])  # "Group 10" is one letter too many
    run = await scene.fire()
    assert await scene.counts(run) == {"pending": 9, "failed": 1}
    assert await scene.errors(run) == {
        "Group 10": "With this group's name the text has 2001 characters, and Discord takes 2000."
    }


async def test_a_file_goes_to_the_groups_that_take_it(scene: Scene) -> None:
    """Boosted servers take more: the others' groups fail with their limit, and a file too large for all is refused."""
    shop = await scene.shop(Recognising(scene.clock), on=DISCORD)
    await scene.groups(shop, 3)
    await scene.rows("UPDATE channels SET largest_file = number * (10 << 20) WHERE number > 1")
    await scene.reminder({"a.jpg": bytes(25 << 20)}, parts=[{"media": "a.jpg"}])
    too_small = "It cannot be sent: the file has 25.0 MiB, and this group takes {} MiB."
    assert (await planned(scene)).warnings == [
        f'"Group 1": {too_small.format(10)}',
        f'"Group 2": {too_small.format(20)}',
    ]
    assert await scene.counts(await scene.fire()) == {"pending": 1, "failed": 2}
    await scene.reminder({"a.jpg": bytes(31 << 20)}, name="Film", parts=[{"media": "a.jpg"}])
    with pytest.raises(BadInput, match=r'31\.0 MiB, and "Group 3", the most generous of its 3 groups, takes 30 MiB'):
        await scene.fire("Film")


async def test_d45_a_dry_run_is_the_plan_and_no_call(scene: Scene, shop: Shop) -> None:
    """D-45: the plan of a dry run has what the run then sends, and costs nothing."""
    await scene.groups(shop, 5)
    await scene.reminder(parts=[{"text": "Hello {group} at {time} on {date}"}, {"text": "{reminder} {{}}"}])
    plan = await planned(scene)
    assert plan.texts[:2] == ["Hello Group 1 at 09:00 on 2026-03-02", "Friday stock {}"]
    assert shop.platform.calls == 0
    assert await scene.rows("SELECT FROM runs") == []
    await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    assert sorted(one.text for one in shop.platform.delivered) == sorted(plan.texts)


async def test_ten_queries_before_the_first_send(scene: Scene, shop: Shop) -> None:
    """From the moment a firing is due until the first claim, 1000 targets of two parts cost at most ten queries."""
    await scene.groups(shop, 1000)
    await scene.reminder(parts=TWO, schedule={"every": "hour"})
    await scene.pass_time(minutes=59, seconds=30)
    await scene.serve(shop)
    await scene.pass_time(seconds=29)
    asked: list[str] = []
    scene.listen(asked)
    await scene.pass_time(seconds=10)
    assert shop.platform.delivered
    assert len(spent := before_the_first_claim(asked)) <= 10, spent


async def test_ten_queries_with_an_upload(scene: Scene, shop: Shop) -> None:
    """From the moment a person fires until the first claim, 1000 groups and a file to upload cost at most ten."""
    await scene.groups(shop, 1000)
    await scene.reminder({"poster.jpg": b"low tide" * 600_000}, parts=[{"media": "poster.jpg"}])
    await scene.serve(shop)
    await scene.pass_time(seconds=1)
    asked: list[str] = []
    scene.listen(asked)
    await scene.fire()
    await scene.pass_time(seconds=10)
    assert len(shop.platform.uploads) == 1
    assert shop.platform.delivered
    assert len(spent := before_the_first_claim(asked)) <= 10, spent


def before_the_first_claim(asked: list[str]) -> list[str]:
    """What was asked for a run, without marks of transactions and what a connection learns once of a type."""
    [claim, *_] = [number for number, query in enumerate(asked) if "claim_send" in query]
    return [query for query in asked[:claim] if not query.startswith(BESIDES) and "'jit'" not in query]


async def test_an_empty_reminder_or_a_missing_file_refuses(scene: Scene, shop: Shop) -> None:
    """Nothing is half opened: a list without groups and a file that is gone are sentences."""
    async with scene.database.transaction() as connection:
        await target_lists.save(connection, "all shops", [])
    await scene.reminder(list="all shops")
    with pytest.raises(BadInput, match="goes to nobody"):
        await scene.fire()
    await scene.groups(shop, 1)
    await scene.reminder({"poster.jpg": b"x"}, name="poster", parts=[{"media": "poster.jpg"}])
    await scene.rows("DELETE FROM reminder_media")
    with pytest.raises(BadInput, match=r"poster\.jpg.*missing"):
        await scene.fire("poster")
    assert await scene.rows("SELECT FROM runs") == []


async def test_a_group_that_is_gone_fails_alone(scene: Scene, shop: Shop) -> None:
    """A group that no longer exists, or that the account left, fails with the reason before anything is sent to it."""
    await scene.groups(shop, 3)
    await scene.reminder(targets=["Group 1", "Group 2", "Group 3"])
    await scene.rows("UPDATE channels SET state = 'deleted' WHERE number = 1")
    await scene.rows("DELETE FROM sights WHERE channel = (SELECT id FROM channels WHERE number = 2)")
    await scene.rows("UPDATE channels SET title = 'renamed' WHERE number = 3")
    run = await scene.fire()
    assert await scene.counts(run) == {"pending": 1, "failed": 2}
    errors = await scene.errors(run)
    assert "no longer exists" in errors["Group 1"]
    assert "does not see" in errors["Group 2"]
    await scene.serve(shop)
    await scene.pass_time(minutes=1)
    assert shop.platform.texts(3) == ["Hello renamed"]


async def test_names_must_mean_one_group(scene: Scene, shop: Shop) -> None:
    """A name of two groups is refused with the candidates; a name of none, and one group named twice, too."""
    await scene.groups(shop, 3)
    await scene.rows("UPDATE channels SET title = 'Twins' WHERE number IN (1, 2)")
    for groups, sentence in ((["Twins"], "1, 2"), (["Nobody"], "no group"), (["Group 3", "3"], "same group")):
        with pytest.raises(BadInput, match=sentence):
            await scene.reminder(targets=groups)


# When it fires


async def test_a_schedule_fires_and_names_its_next(scene: Scene, shop: Shop) -> None:
    """Each firing opens one run, delivered by whoever serves the account."""
    await scene.groups(shop, 2)
    await scene.reminder(schedule={"every": "hour"})
    await scene.serve(shop)
    await scene.pass_time(hours=3, minutes=5)
    assert [row["due_at"] for row in await scene.rows("SELECT due_at FROM runs ORDER BY id")] == [
        MORNING + timedelta(hours=number) for number in (1, 2, 3)
    ]
    assert shop.platform.by_group() == {1: 3, 2: 3}
    assert [row["due_at"] for row in await scene.rows("SELECT due_at FROM reminders")] == [MORNING + timedelta(hours=4)]


async def test_what_was_missed_is_made_up_for_once(scene: Scene, shop: Shop) -> None:
    """Nobody served the account for hours: one run stands for all the firings that were missed."""
    await scene.groups(shop, 2)
    await scene.reminder(schedule={"every": "hour"})
    await scene.pass_time(hours=5, minutes=30)
    await scene.serve(shop)
    await scene.pass_time(minutes=5)
    [row] = await scene.rows("SELECT due_at, status FROM runs")
    assert (row["due_at"], row["status"]) == (MORNING + timedelta(hours=5), "success")
    assert shop.platform.by_group() == {1: 1, 2: 1}


@pytest.mark.parametrize(
    ("overlapping", "old", "each"),
    [("queue", "success", {2}), ("skip_old", "partial", {1, 2}), ("merge", "partial", {1, 2})],
)
async def test_the_next_firing_meets_an_unfinished_one(
    scene: Scene, shop: Shop, overlapping: str, old: str, each: set[int]
) -> None:
    """``when_overlapping``: both in turn, or groups the old one has not reached get the new one only."""
    await scene.groups(shop, 60)
    await scene.reminder(when_overlapping=overlapping)
    first = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=30)
    second = await scene.fire()
    await scene.pass_time(minutes=5)
    assert [(await scene.run(run)).status for run in (first, second)] == [old, "success"]
    assert set(shop.platform.by_group().values()) == each


@pytest.mark.parametrize("named", ["120363041234567890@g.us", "6281200000001-1500000000@g.us"])
async def test_a_whatsapp_group_is_named_by_its_address(scene: Scene, forgetful: Shop, named: str) -> None:
    """Of the new kind or the old: both are what WhatsApp's own tools show."""
    async with scene.database.transaction() as connection:
        seen = [Channel(number_of(named), "Shops", may_post=True), Channel(ChannelId(7), "Shops", may_post=True)]
        await channels.see(connection, WHATSAPP, forgetful.account.id, seen)
    await scene.reminder(targets=[named])
    await scene.serve(forgetful)
    await scene.fire()
    await scene.pass_time(minutes=1)
    assert forgetful.platform.by_group() == {number_of(named): 1}
    await scene.fire(test_on=named)
    await scene.pass_time(minutes=1)
    assert forgetful.platform.by_group() == {number_of(named): 2}


@pytest.mark.parametrize("named", ["120363041234567890@g.us", "6281200000001-1500000000@g.us"])
async def test_a_doubt_is_settled_for_a_group_by_its_address(scene: Scene, forgetful: Shop, named: str) -> None:
    """What a reminder's targets are named by is what every command takes for one."""
    async with scene.database.transaction() as connection:
        seen = [Channel(number_of(named), "Shops", may_post=True), Channel(ChannelId(7), "Others", may_post=True)]
        await channels.see(connection, WHATSAPP, forgetful.account.id, seen)
    await scene.reminder()
    forgetful.platform.troubles = [Trouble(OutcomeUnknown("No answer."), after=True)] * 2
    await scene.serve(forgetful)
    run = await scene.fire()
    await scene.pass_time(minutes=1)
    assert await scene.do(run_controls.resolve, run, run_controls.Resolution.SENT, groups=[named]) == 1
    assert await scene.counts(run) == {"sent": 1, "unknown": 1}
    async with scene.database.connection() as connection:
        assert (await channels.find(connection, named)).title == "Shops"


async def test_a_firing_parses_its_document_once(scene: Scene, shop: Shop) -> None:
    """The instant of the next firing and the plan of this one come from the same parsed value."""
    await scene.groups(shop, 1)
    await scene.reminder(schedule={"every": "hour"})
    with counted_parses() as parses:
        await scene.serve(shop)
        await scene.pass_time(hours=1, minutes=1)
    assert (len(shop.platform.by_group()), parses.since_last()) == (1, 1)


async def test_a_document_is_parsed_when_it_comes_in_and_when_it_is_fired(scene: Scene, shop: Shop) -> None:
    """Storing, changing and estimating use the value that came in; sending uses what the run has frozen."""
    await scene.groups(shop, 1)
    with counted_parses() as parses:
        await scene.reminder()
        assert parses.since_last() == 1
        async with scene.database.transaction() as connection:
            kept = await reminders.find(connection, "Friday stock")
            changed = await reminder_changes.change(connection, kept, replace(kept.reminder, name="Monday stock"), {})
            assert parses.since_last() == 1
            await make_plan(connection, changed, at=changed.now)
        assert (changed.name, parses.since_last()) == ("Monday stock", 0)
        await scene.fire("Monday stock")
        assert parses.since_last() == 1
        await scene.serve(shop)
        await scene.pass_time(minutes=1)
        assert (len(shop.platform.by_group()), parses.since_last()) == (1, 0)
