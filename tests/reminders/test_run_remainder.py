"""What is left of a run, made into a reminder for another account: who is in it, and who must not be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reminders.conftest import Scene, Shop
from tests.reminders.groups_platform import GroupsPlatform, Recognising, Trouble
from tidegate.channels.queries import channels
from tidegate.core.errors import NothingToDo, NotNow, OutcomeUnknown, Refused
from tidegate.core.ids import ChannelId, ReminderId, RunId
from tidegate.database.pool import Connection
from tidegate.platforms.interface import Channel
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.reminders.queries import reminders
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_remainder import Remainder, make_remainder

PARTS = [{"text": "Good morning {group}, {{prices}}"}, {"media": "poster.jpg", "caption": "for {group}"}]
POSTER = {"poster.jpg": b"a picture"}


async def sees(scene: Scene, shop: Shop, *numbers: int) -> None:
    """The account is in these groups, and in no others."""
    seen = [Channel(ChannelId(number), f"Group {number}", may_post=True) for number in numbers]
    async with scene.database.transaction() as connection:
        await channels.see(connection, shop.account.platform, shop.account.id, seen)


async def made(scene: Scene, run: RunId, account: str = "other") -> Remainder:
    async with scene.database.transaction() as connection:
        return await make_remainder(connection, run, account)


async def test_the_rest_waits_for_a_person_and_reaches_everybody_once(scene: Scene, shop: Shop) -> None:
    """The window closed on most of it. The other account gets what is left and sends it when it is fired: with the
    texts and files of the run, to each group once. A second remainder finds the reminder there already."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    await scene.groups(shop, 30)
    await sees(scene, other, *range(1, 29))
    await scene.reminder(POSTER, parts=PARTS, delivery_window_end_hour=10)
    await scene.serve(shop)
    await scene.pass_time(minutes=59, seconds=40)
    run = await scene.fire()
    await scene.pass_time(minutes=3)
    assert (await scene.run(run)).status == "partial"
    reached = set(shop.platform.by_group())
    rest = await made(scene, run)
    assert {one.target: one.why for one in rest.left_out} == dict.fromkeys(
        ["Group 29", "Group 30"], '"other" is not in this group.'
    )
    await scene.serve(other)
    await scene.pass_time(hours=12)
    assert other.platform.delivered == []
    await scene.pass_time(hours=10)
    await scene.fire(rest.name)
    await scene.pass_time(minutes=10)
    assert set(other.platform.by_group()) == set(range(1, 29)) - reached
    assert rest.targets == len(set(range(1, 29)) - reached)
    assert other.platform.texts(28) == ["Good morning Group 28, {prices}", "for Group 28"]
    assert other.platform.uploads == [b"a picture"]


async def test_who_may_have_it_is_never_in_it(scene: Scene, shop: Shop) -> None:
    """Unknown, and with one of two messages: both are named with the reason. Failed ones are in it."""
    whats = await scene.shop(GroupsPlatform(scene.clock), name="whats", on=WHATSAPP)
    other = await scene.shop(GroupsPlatform(scene.clock), name="other", on=WHATSAPP)
    await scene.groups(whats, 3)
    await sees(scene, other, 1, 2, 3)
    await scene.reminder(account="whats", parts=[{"text": "first"}, {"text": "second"}])
    whats.platform.trouble_in = {1: Trouble(OutcomeUnknown("no answer")), 3: Trouble(Refused("no"))}
    whats.platform.troubles = [None, Trouble(Refused("not this one"))]
    run = await scene.fire()
    await scene.serve(whats)
    await scene.pass_time(minutes=5)
    assert await scene.counts(run) == {"unknown": 1, "failed": 2}
    rest = await made(scene, run)
    assert {one.target for one in rest.left_out} == {"Group 1", "Group 2"}
    async with scene.database.connection() as connection:
        kept = await reminders.find(connection, rest.name)
    assert (kept.written["targets"], kept.due_at) == (["3"], None)


async def test_a_second_remainder_names_the_first(scene: Scene, shop: Shop) -> None:
    """However it is called by now. Removed before it was fired, it is made anew; other groups get one of their own."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    third = await scene.shop(Recognising(scene.clock), name="third")
    await scene.groups(shop, 4)
    await sees(scene, other, 1, 2)
    await sees(scene, third, 1, 2, 3)
    await scene.reminder()
    run = await scene.fire()
    await scene.do(run_controls.pause, run)
    first = await made(scene, run)
    await scene.rows("UPDATE reminders SET name = 'Renamed' WHERE id = $1", first.id)
    with pytest.raises(NothingToDo, match='The reminder "Renamed" has what is left of it already'):
        await made(scene, run)
    second = await made(scene, run, "third")
    assert (second.targets, second.name) == (1, f"{first.name.removesuffix(')')}, 2)")
    await scene.do(remove, first.id)
    again = await made(scene, run)
    assert (again.targets, len({first.id, second.id, again.id})) == (2, 3)
    await scene.serve(other)
    await scene.fire(again.name)
    await scene.pass_time(minutes=2)
    await scene.do(remove, again.id)
    with pytest.raises(NothingToDo, match="It was left to the reminder"):
        await made(scene, run)  # they have it


async def remove(connection: Connection, reminder: ReminderId) -> None:
    await reminders.remove(connection, await reminders.find(connection, str(reminder)))


async def test_what_is_pending_leaves_the_run(scene: Scene, shop: Shop) -> None:
    """A paused run that is resumed later sends nothing to the groups that the other account has; one that sends is
    refused, and so is one with nothing left."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    await scene.groups(shop, 5)
    await sees(scene, other, 1, 2, 3)
    await scene.reminder()
    run = await scene.fire()
    with pytest.raises(NotNow, match="Pause it first"):
        await made(scene, run)
    await scene.do(run_controls.pause, run)
    await scene.rows("UPDATE run_parts SET doubtful_since = clock_now() WHERE target = 1")
    rest = await made(scene, run)
    assert (rest.targets, [one.target for one in rest.left_out]) == (2, ["Group 1", "Group 4", "Group 5"])
    await scene.rows("DELETE FROM reminders WHERE name = $1", rest.name)
    with pytest.raises(NothingToDo, match="It was left to the reminder"):
        await made(scene, run)  # fired and forgotten since, it would reach them a second time
    await scene.do(run_controls.resume, run)
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    assert set(shop.platform.by_group()) == {1, 4, 5}
    errors: dict[str, Any] = await scene.errors(run)
    assert errors == dict.fromkeys(["Group 2", "Group 3"], f'left to the reminder "{rest.name}"')
    await scene.reminder(name="whole", targets=["Group 4"])
    whole = await scene.fire("whole")
    await scene.pass_time(minutes=1)
    with pytest.raises(NothingToDo):
        await made(scene, whole)
