"""Cycles with the real client against the loopback Telegram: what they find, and what they cost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import structlog

from tests.scenes.telegram_mirror import Mirror, make_mirror, unheard
from tidegate.channels.queries import channels
from tidegate.core.errors import NotOurs
from tidegate.history.queries import coverage
from tidegate.history.rules.coverage import Content, Coverage
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.scan_decision import INDEX_LAG, Verdict


@pytest.fixture
async def forum(mirror: Mirror, world: World) -> Channel:
    """A forum of 1,086 topics, mirrored and settled."""
    with unheard(world.add_channel("Models", forum=True)) as made:
        for number in range(1, 1_086):  # General is one of them
            world.add_topic(made, f"Topic {number}")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    return made


@pytest.mark.parametrize(("active", "differences"), [(0, 0), (5, 1), (50, 2)])
async def test_a_forum_of_a_thousand_topics_takes_few_calls(
    mirror: Mirror, forum: Channel, active: int, differences: int
) -> None:
    """S-14, S-15, S-16: one gate, and a call for every hundred events; each file is found in its topic."""
    topics = sorted(forum.topics)[1:][:active]
    posted = {}
    for topic in topics:
        mirror.world.post(forum, "look at this", topic=topic)
        names = [f"a{topic}.zip", f"b{topic}.zip"]
        posted |= dict.fromkeys(mirror.post_files(forum, names, topic), topic)
    async with mirror.counted() as calls:
        report = await mirror.cycle()
    assert calls == Counter({"messages.getPeerDialogs": 1, "updates.getChannelDifference": differences})
    assert (report.tally.archives, report.tally.messages) == (2 * active, 3 * active)
    rows = await mirror.rows("SELECT message, topic FROM archive_parts JOIN archives ON archives.id = archive")
    assert {row["message"]: row["topic"] for row in rows} == posted
    assert dict(report.calls) == dict(calls)


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """A channel with one archive, enabled and never scanned."""
    made = world.add_channel("News")
    mirror.post_files(made, ["first.zip"])
    await mirror.sync()
    await mirror.enable(made)
    return made


async def covered(mirror: Mirror, channel: Channel) -> Coverage:
    async with mirror.database.connection() as connection:
        key = (await channels.find(connection, str(channel.id))).key
        return (await coverage.load(connection, key))[Content.DOCUMENTS]


async def test_a_channel_is_scanned_first_and_remembered_even_when_empty(mirror: Mirror, world: World) -> None:
    """S-01, S-22: a place nobody scanned is scanned, and an empty scan is stored with the newest id read before it."""
    empty = world.add_channel("Quiet")
    world.post(empty, "only talk")
    await mirror.sync()
    await mirror.enable(empty)
    report = await mirror.cycle()
    place = await mirror.place(empty)
    assert report.verdicts == Counter({Verdict.FIRST: 1})
    assert place["last_scanned_at"] is not None
    assert (place["consecutive_empty_scans"], place["last_scan_found_archives"]) == (1, False)
    assert (place["watermark"], place["newest_seen"]) == (2, 2)
    assert place["verdict"] == Verdict.FIRST.value


async def test_a_restart_after_a_clean_cycle_searches_nothing(mirror: Mirror, channel: Channel) -> None:
    """S-02, S-57: a minute after an idle scan only the shared gate is asked; the skip is logged and stored."""
    await mirror.settle()
    await mirror.cycle()
    await mirror.pass_time(minutes=1)
    await mirror.connect()
    with structlog.testing.capture_logs() as lines:
        async with mirror.counted() as calls:
            report = await mirror.cycle()
    assert calls == Counter({"messages.getPeerDialogs": 1})
    assert report.verdicts == Counter({Verdict.FRESH: 1})
    [line] = [line for line in lines if line["event"] == "Skipping recently-scanned idle channel"]
    assert line["verdict"] == Verdict.FRESH.value
    assert (await mirror.place(channel))["verdict"] == Verdict.FRESH.value


async def test_a_caught_up_channel_is_logged_with_its_verdict(mirror: Mirror, channel: Channel) -> None:
    """S-13: an equal counter is the whole answer; scan time and empty counter move on, and the log says why."""
    await mirror.settle()
    before = await mirror.place(channel)
    with structlog.testing.capture_logs() as lines:
        report = await mirror.cycle()
    after = await mirror.place(channel)
    assert report.calls == {"messages.getPeerDialogs": 1}
    assert after["consecutive_empty_scans"] == before["consecutive_empty_scans"] + 1
    assert after["last_scanned_at"] > before["last_scanned_at"]
    [line] = [line for line in lines if line["event"] == "Channel caught up via the gate"]
    assert line["verdict"] == Verdict.UNCHANGED.value


async def test_a_scan_that_found_something_is_no_reason_to_skip(mirror: Mirror, channel: Channel) -> None:
    """S-03, S-23: a minute after an archive was found the channel is looked at, and its empty counter is 0."""
    await mirror.cycle()
    assert (await mirror.place(channel))["consecutive_empty_scans"] == 0
    await mirror.pass_time(minutes=1)
    assert Verdict.FRESH not in (await mirror.cycle()).verdicts


async def test_a_scan_in_the_future_hides_nothing(mirror: Mirror, channel: Channel) -> None:
    """S-73: the clock stepped back by an hour; the window does not skip the channel."""
    await mirror.settle()
    await mirror.cycle()
    await mirror.pass_time(hours=-1)
    assert (await mirror.cycle()).verdicts == Counter({Verdict.UNCHANGED: 1})


async def test_a_cold_channel_rests_until_its_turn_or_a_change(mirror: Mirror, channel: Channel) -> None:
    """S-07, S-08, S-10: cold and unchanged costs nothing beyond the gate, its turn one search; a change wakes it."""
    await mirror.settle()
    for _ in range(5):
        await mirror.cycle()
        await mirror.pass_time(hours=1)
    seen = []
    for _ in range(5):
        report = await mirror.cycle()
        seen.append((report.verdicts[Verdict.COLD], "messages.search" in report.calls))
        await mirror.pass_time(hours=1)
    assert sorted(seen) == [(0, True), (1, False), (1, False), (1, False), (1, False)]
    while not (await mirror.cycle()).verdicts[Verdict.COLD]:
        await mirror.pass_time(hours=1)
    await mirror.pass_time(hours=1)
    mirror.post_files(channel, ["second.zip"])
    report = await mirror.cycle()
    assert (report.verdicts, report.tally.archives) == (Counter({Verdict.CHANGED: 1}), 1)


async def test_cold_channels_keep_their_turns_over_restarts(mirror: Mirror, world: World) -> None:
    """S-09: the cycle number is stored, so restarts take nobody's turn, and turns are spread evenly."""
    made = [world.add_channel(f"Cold {number}") for number in range(7)]
    await mirror.sync()
    for one in made:
        await mirror.enable(one)
    await mirror.settle()
    for _ in range(5):
        await mirror.cycle()
        await mirror.pass_time(hours=1)
    searches = []
    for number in range(10):
        if number % 2 == 0:
            await mirror.connect()
        searches.append((await mirror.cycle()).calls.get("messages.search", 0))
        await mirror.pass_time(hours=1)
    assert sum(searches) == 14
    assert max(searches) <= 2


async def test_a_channel_the_gate_leaves_out_is_unknown(mirror: Mirror, channel: Channel) -> None:
    """S-11: it is read instead of being taken for idle."""
    await mirror.settle()
    mirror.world.faults.add(Fault(FaultKind.MISSING_ROW, "messages.getPeerDialogs"))
    report = await mirror.cycle()
    assert report.verdicts == Counter({Verdict.UNKNOWN: 1})
    assert report.calls["updates.getChannelDifference"] == 1


async def test_a_channel_asked_for_by_hand_is_scanned(mirror: Mirror, channel: Channel) -> None:
    """S-12: a minute after its last scan, because a person wants it; the cycle number does not move."""
    await mirror.settle()
    number = (await mirror.cycle()).cycle
    await mirror.ask(channel)
    report = await mirror.cycle(channel)
    assert (report.verdicts, report.cycle) == (Counter({Verdict.ASKED: 1}), number)
    assert "messages.search" in report.calls
    assert (await mirror.place(channel))["asked"] is False
    assert (await mirror.cycle()).cycle == number + 1


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("by_topic", [False, True])
async def test_an_ask_during_a_cycle_is_left_to_the_next(
    mirror: Mirror, channel: Channel, world: World, *, by_topic: bool, asked_before: bool
) -> None:
    """S-61, S-62: a cycle answers the asks it knew of when it began; one that comes meanwhile is not forgotten."""
    if by_topic:
        channel = world.add_channel("Forum", forum=True)
        await mirror.sync()
        await mirror.enable(channel, world.add_topic(channel, "Dragons").id)
    await mirror.settle()
    if asked_before:
        await mirror.ask(channel)
    lane = mirror.lane
    assert lane is not None
    heads = lane.heads

    async def heads_then_an_ask(*arguments: object, **otherwise: object) -> object:
        answer = await heads(*arguments, **otherwise)
        await mirror.ask(channel)
        return answer

    lane.heads = heads_then_an_ask
    first = await mirror.cycle(channel)
    assert (await mirror.place(channel))["asked"] is True
    lane.heads = heads
    second = await mirror.cycle(channel)
    assert (await mirror.place(channel))["asked"] is False
    assert (first.verdicts[Verdict.ASKED] > 0, second.verdicts[Verdict.ASKED] > 0) == (asked_before, True)


async def test_talk_that_was_seen_is_not_new(mirror: Mirror, channel: Channel) -> None:
    """S-17: a text as newest message costs one difference, once."""
    await mirror.settle()
    mirror.world.post(channel, "talk")
    assert (await mirror.cycle()).tally.messages == 1
    assert (await mirror.cycle()).calls == {"messages.getPeerDialogs": 1}


async def test_a_deleted_newest_message_lowers_nothing(mirror: Mirror, channel: Channel) -> None:
    """S-18: the deletion is learned from the difference; no search, and the marks stay where they were."""
    await mirror.settle()
    number = mirror.world.post(channel, "a slip").id
    await mirror.cycle()
    mirror.world.delete(channel, [number])
    report = await mirror.cycle()
    place = await mirror.place(channel)
    assert "messages.search" not in report.calls
    assert (place["watermark"], place["newest_seen"]) == (number, number)
    [row] = await mirror.rows("SELECT deleted_at FROM messages WHERE id = $1", number)
    assert row["deleted_at"] is not None


async def test_much_talk_is_searched_through_instead_of_read(mirror: Mirror, channel: Channel) -> None:
    """S-19: 5,000 messages with three files among them cost a search, not fifty differences."""
    await mirror.settle()
    with unheard(channel):
        for number in range(5_000):
            mirror.world.post(channel, f"talk {number}")
    mirror.post_files(channel, ["a.zip", "b.zip", "c.zip"])
    report = await mirror.cycle()
    assert await mirror.names(channel) == ["first.zip", "a.zip", "b.zip", "c.zip"]
    assert sum(report.calls.values()) <= 3
    assert "updates.getChannelDifference" not in report.calls


async def test_the_counter_stored_is_the_one_read_before_the_walk(mirror: Mirror, channel: Channel) -> None:
    """S-20, S-21: what is posted during the first walk is found by the next cycle at the latest."""
    posted: list[int] = []
    lane = mirror.lane
    assert lane is not None
    heads = lane.heads

    async def heads_then_a_post(*arguments: object, **otherwise: object) -> object:
        answer = await heads(*arguments, **otherwise)
        if not posted:
            posted.extend(mirror.post_files(channel, ["meanwhile.zip"]))
        return answer

    lane.heads = heads_then_a_post
    await mirror.cycle()
    assert ((await mirror.place(channel))["changes"] or 0) < channel.pts
    await mirror.cycle()
    assert await mirror.names(channel) == ["first.zip", "meanwhile.zip"]


async def test_a_short_page_does_not_end_the_walk(mirror: Mirror, world: World) -> None:
    """S-26: pages of 37 where 100 were asked for; everything is found."""
    made = world.add_channel("Long")
    names = [f"{number:03}.zip" for number in range(150)]
    mirror.post_files(made, names)
    world.limits.page = 37
    await mirror.sync()
    await mirror.enable(made)
    await mirror.cycle()
    assert await mirror.names(made) == names
    assert (await covered(mirror, made)).reached_start


async def test_a_walk_that_breaks_off_leaves_a_gap_and_goes_on_there(mirror: Mirror, world: World) -> None:
    """S-27, S-28: coverage holds only what was walked, the watermark stays; the next cycle walks the rest.

    The newest numbers, which an index may not have known yet, are read again as well.
    """
    made = world.add_channel("Long")
    names = [f"{number:03}.zip" for number in range(240)]
    mirror.post_files(made, names)
    world.limits.page = 40
    await mirror.sync()
    await mirror.enable(made)
    lane = mirror.lane
    assert lane is not None
    files, asked = lane.files, []

    async def breaks_on_the_third(*arguments: Any, **otherwise: Any) -> object:
        asked.append(arguments[1].before)
        if len(asked) == 3 and not (await mirror.place(made))["last_scanned_at"]:
            world.faults.add(Fault(FaultKind.ERROR, "messages.search", code="400 SEARCH_QUERY_EMPTY"))
        return await files(*arguments, **otherwise)

    lane.files = breaks_on_the_third
    report = await mirror.cycle()
    world.faults.clear()
    place, gap = await mirror.place(made), (await covered(mirror, made)).gaps(head=241)
    assert len(report.troubles) == 1
    assert (place["watermark"], place["changes"], place["consecutive_empty_scans"]) == (0, None, 0)
    assert gap[0] == (0, 161)
    asked.clear()
    await mirror.cycle()
    assert 162 in asked
    assert [before for before in asked if before is not None and 162 < before <= 241 - INDEX_LAG] == []
    assert await mirror.names(made) == names
    assert (await covered(mirror, made)).gaps(head=241) == []


async def test_a_file_the_search_did_not_know_yet_is_found_later(mirror: Mirror, channel: Channel) -> None:
    """S-29: after a search the counter stored lies a little back, so the next cycle reads what the index knew late."""
    mirror.world.faults.add(Fault(FaultKind.SEARCH_LAG, "messages.search", count=10, seconds=60))
    mirror.post_files(channel, ["late.zip"])
    await mirror.cycle()
    mirror.world.faults.clear()
    watermark = (await mirror.place(channel))["watermark"]
    await mirror.cycle()
    assert await mirror.names(channel) == ["first.zip", "late.zip"]
    assert (await mirror.place(channel))["watermark"] == watermark


async def test_a_difference_goes_on_where_it_was_stored(mirror: Mirror, channel: Channel) -> None:
    """S-30: the connection ends after the first of three pages; the next cycle reads the other two, nothing twice."""
    await mirror.settle()
    names = [f"{number:03}.zip" for number in range(250)]
    mirror.post_files(channel, names)
    lane = mirror.lane
    assert lane is not None
    difference, asked = lane.difference, []

    async def broken(*arguments: object, **otherwise: object) -> object:
        asked.append(otherwise["since"])
        if len(asked) == 2:
            mirror.world.faults.add(Fault(FaultKind.ERROR, "updates.getChannelDifference", code="400 CHANNEL_BOGUS"))
        return await difference(*arguments, **otherwise)

    lane.difference = broken
    await mirror.cycle()
    await mirror.cycle()
    assert asked == [asked[0], asked[0] + 100, asked[0] + 100, asked[0] + 200]
    assert await mirror.names(channel) == ["first.zip", *names]


async def test_a_difference_that_is_too_long_becomes_a_search(mirror: Mirror, channel: Channel) -> None:
    """S-31: nothing is dropped; the gap is searched and the counter is the one of the reply."""
    await mirror.settle()
    mirror.post_files(channel, ["a.zip", "b.zip"])
    mirror.world.forget_events(channel)
    report = await mirror.cycle()
    assert report.calls["updates.getChannelDifference"] == 1
    assert "messages.search" in report.calls
    assert await mirror.names(channel) == ["first.zip", "a.zip", "b.zip"]
    assert (await mirror.place(channel))["changes"] == channel.pts
    assert (await mirror.cycle()).calls == {"messages.getPeerDialogs": 1}


async def test_a_deleted_source_marks_its_archive(mirror: Mirror, channel: Channel) -> None:
    """S-32: what was filed is kept and marked; what was not yet worked on has lost its part."""
    filed, waiting = 2, mirror.post_files(channel, ["second.zip"])[0]
    await mirror.settle()
    await mirror.rows("UPDATE archives SET state = 'filed' WHERE base = 'first'")
    mirror.world.delete(channel, [filed, waiting])
    await mirror.cycle()
    rows = await mirror.rows("SELECT base, state, flags FROM archives ORDER BY base")
    assert [tuple(row) for row in rows] == [("first", "filed", ["source_deleted"]), ("second", "gone", [])]


async def test_an_edit_that_swaps_the_file_is_a_new_archive(mirror: Mirror, channel: Channel) -> None:
    """S-33: the new file is found, the earlier version stays on record."""
    await mirror.settle()
    await mirror.rows("UPDATE archives SET state = 'filed' WHERE base = 'first'")
    mirror.world.edit(channel, 2, file=mirror.world.add_file("better.zip", 2_000))
    report = await mirror.cycle()
    rows = await mirror.rows("SELECT base, state, flags FROM archives ORDER BY base")
    assert [tuple(row) for row in rows] == [("better", "waiting", []), ("first", "filed", ["source_replaced"])]
    assert report.tally.messages == 0


async def test_a_stale_gate_delays_and_loses_nothing(mirror: Mirror, channel: Channel) -> None:
    """S-74: an old answer of the gate only puts it off until the next one."""
    await mirror.settle()
    mirror.world.faults.add(Fault(FaultKind.STALE, "messages.getPeerDialogs"))
    mirror.post_files(channel, ["second.zip"])
    await mirror.cycle()
    await mirror.pass_time(hours=1)
    await mirror.cycle()
    assert await mirror.names(channel) == ["first.zip", "second.zip"]


async def test_a_set_that_straddles_cycles_is_one_archive(mirror: Mirror, channel: Channel) -> None:
    """S-77: its parts are kept while it is collected; with the last one it is whole."""
    await mirror.settle()
    world = mirror.world
    world.post(channel, file=world.add_file("x.part1.rar", 1_000))
    world.post(channel, file=world.add_file("x.part3.rar", 10))
    await mirror.cycle()
    assert [row["state"] for row in await mirror.rows("SELECT state FROM archives WHERE base = 'x'")] == ["collecting"]
    world.post(channel, file=world.add_file("x.part2.rar", 1_000))
    report = await mirror.cycle()
    assert [row["state"] for row in await mirror.rows("SELECT state FROM archives WHERE base = 'x'")] == ["waiting"]
    assert (report.tally.files, report.tally.archives) == (1, 0)


async def test_one_account_reads_a_channel_and_another_steps_in(mirror: Mirror, channel: Channel) -> None:
    """S-45, S-46, S-47: one reader a channel; when it can no longer see it, the other does, else nobody is named."""
    other = await make_mirror(mirror.database, mirror.telegram, mirror.call_log, "second", "+1000002")
    try:
        await other.sync()
        await mirror.cycle()
        assert (await other.cycle()).gated == 0
        channel.members.discard(1_000_001)
        report = await mirror.cycle()
        assert report.verdicts == Counter({Verdict.UNREADABLE: 1})
        assert (await other.cycle()).gated == 1
        channel.members.discard(1_000_002)
        await other.cycle()
        place = await mirror.place(channel)
        assert (place["state"], place["reader"]) == ("unreadable", None)
    finally:
        assert other.lane is not None
        await other.lane.close()


async def test_the_ledger_agrees_with_the_platform(mirror: Mirror, channel: Channel) -> None:
    """calls-through-a-lane: method by method, connecting apart."""
    await mirror.settle()
    mirror.post_files(channel, ["second.zip"])
    await mirror.cycle()
    await mirror.connect()
    await mirror.ask(channel)
    await mirror.cycle()
    await mirror.call_log.flush()
    rows = await mirror.rows("SELECT method, count(*) AS count FROM calls WHERE outcome <> 'not_sent' GROUP BY method")
    assert {row["method"]: row["count"] for row in rows} == dict(mirror.world.record.by_method())


async def test_a_page_of_a_lost_account_is_refused_whole(mirror: Mirror, channel: Channel) -> None:
    """Somebody else took the account in mid-cycle; neither rows, coverage, memory nor event are kept.

    Invariant: page-and-progress-together and one-owner-per-account.
    """
    lane = mirror.lane
    assert lane is not None
    files = lane.files

    async def taken_meanwhile(*arguments: object, **otherwise: object) -> object:
        page = await files(*arguments, **otherwise)
        await mirror.rows("UPDATE accounts SET epoch = epoch + 1")
        return page

    lane.files = taken_meanwhile
    with pytest.raises(NotOurs):
        await mirror.cycle()
    for table in ("messages", "coverage", "archives", "cycles"):
        assert await mirror.rows(f"SELECT FROM {table}") == []
    assert (await mirror.place(channel))["last_scanned_at"] is None
    assert await mirror.rows("SELECT FROM events WHERE kind = 'channel.read'") == []
    assert (await mirror.rows("SELECT cycle FROM accounts"))[0]["cycle"] == 0


async def test_an_idle_channel_that_can_no_longer_be_read_shows_in_the_next_cycle(mirror: Mirror, world: World) -> None:
    """Nothing was posted and no event came: the gate leaves it out, and the state follows in the same cycle."""
    made = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    made.members.clear()
    await mirror.cycle()
    assert (await mirror.place(made))["state"] == "unreadable"
