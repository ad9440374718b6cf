"""Preview pictures with the real client against the loopback Telegram."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest

from tests.cycles.running_scheduler import working
from tests.scenes.telegram_mirror import Mirror
from tests.waiting import until
from tidegate.archives.queries import previews
from tidegate.core.errors import SignedOut
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.preview_search import find_previews
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.file_content import FileKind
from tidegate.loopback.telegram.world.pictures import photo_sizes

READ = {"channels.getMessages": 1, "upload.getFile": 1}
"""One message fetched for a handle that is valid now, and the picture in one piece."""


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """An enabled channel that was read to its end, so that from now on every message passes by."""
    made = world.add_channel("Models")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    return made


async def look(mirror: Mirror, calls: int = 50) -> int:
    assert mirror.lane is not None
    return await find_previews(mirror.lane, mirror.database, calls=calls)


async def found(mirror: Mirror) -> None:
    """Let cycles find what was posted, until every set is whole and no photo could still come."""
    await mirror.cycle()
    await mirror.pass_time(hours=2)
    await mirror.cycle()


async def kept(mirror: Mirror) -> dict[str, bytes]:
    rows = await mirror.rows(
        "SELECT a.name, p.content FROM archives a JOIN previews v ON v.archive = a.id "
        "JOIN pictures p ON p.hash = v.picture"
    )
    return {row["name"]: row["content"] for row in rows}


async def troubles(mirror: Mirror) -> list[tuple[int, str, bool]]:
    rows = await mirror.rows("SELECT tries, trouble, preview_due FROM previews v JOIN archives a ON a.id = v.archive")
    return [tuple(row) for row in rows]


def post_photo(mirror: Mirror, channel: Channel, name: str = "cover.png", **where: int) -> int:
    return mirror.world.post(channel, file=mirror.world.add_photo(name), **where).id


async def test_the_photo_before_a_set_is_its_preview(mirror: Mirror, channel: Channel) -> None:
    """It passed by with the changes, so it takes no search: its message for a handle, and the middle size."""
    post_photo(mirror, channel)
    mirror.post_files(channel, ["dragon.zip"])
    await mirror.cycle()
    async with mirror.counted() as calls:
        assert await look(mirror) == 1
    assert calls == Counter(READ)
    assert await kept(mirror) == {"dragon.zip": photo_sizes("cover.png")["x"]}
    async with mirror.counted() as calls:
        assert await look(mirror) == 0
    assert calls == Counter()


async def test_the_cycle_itself_spends_nothing_on_previews(mirror: Mirror, channel: Channel) -> None:
    """The cycle's calls are fixed: the gate, and a call for a hundred changes."""
    post_photo(mirror, channel)
    mirror.post_files(channel, ["dragon.zip"])
    report = await mirror.cycle()
    assert report.calls == {"messages.getPeerDialogs": 1, "updates.getChannelDifference": 1}


async def test_one_search_finds_the_photos_a_search_for_documents_did_not_see(mirror: Mirror, world: World) -> None:
    """A first scan sees documents alone; one search around the sets found brings their photos and captions."""
    made = world.add_channel("Old")
    for number in range(20):
        post_photo(mirror, made, f"{number}.png")
        mirror.post_files(made, [f"{number}.zip"])
        for _ in range(3):
            world.post(made, "talk")
    await mirror.sync()
    await mirror.enable(made)
    await found(mirror)
    async with mirror.counted() as calls:
        assert await look(mirror) == 20
    assert calls["messages.search"] <= 2  # a page, and the empty one that ends it
    assert (calls["channels.getMessages"], calls["upload.getFile"]) == (1, 20)
    assert await kept(mirror) == {f"{n}.zip": photo_sizes(f"{n}.png")["x"] for n in range(20)}


async def test_without_archives_nothing_is_asked(mirror: Mirror, channel: Channel) -> None:
    """Photos alone cost nothing."""
    post_photo(mirror, channel)
    await mirror.cycle()
    async with mirror.counted() as calls:
        assert await look(mirror) == 0
    assert calls == Counter()


async def test_a_turn_spends_no_more_than_its_calls(mirror: Mirror, channel: Channel) -> None:
    """What is left over is done in the next turns, and 0 switches it off."""
    for number in range(6):
        post_photo(mirror, channel, f"{number}.png")
        mirror.post_files(channel, [f"{number}.zip"])
    await found(mirror)
    assert await look(mirror, calls=0) == 0
    for done in (3, 3):
        async with mirror.counted() as calls:
            assert await look(mirror, calls=4) == done
        assert calls.total() == 4
    assert len(await kept(mirror)) == 6


async def test_a_hint_brings_the_preview_of_what_was_just_posted(mirror: Mirror, channel: Channel) -> None:
    """Within seconds, and with few calls: what is left of a large backlog is for the cycles."""
    for number in range(40):
        post_photo(mirror, channel, f"{number}.png")
        mirror.post_files(channel, [f"{number}.pdf"])
    await mirror.cycle()
    async with working(mirror, None):
        post_photo(mirror, channel, "new.png")
        mirror.post_files(channel, ["new.pdf"])

        async def is_kept() -> bool:
            return "new.pdf" in await kept(mirror)

        await until(is_kept)
    assert len(await kept(mirror)) < 40
    policy = CyclePolicy(preview_calls=50)
    assert (policy.preview_calls_after(whole=True), policy.preview_calls_after(whole=False)) == (50, 5)
    assert CyclePolicy(preview_calls=0).preview_calls_after(whole=False) == 0


async def test_a_wide_search_goes_on_in_the_next_turn(mirror: Mirror, world: World) -> None:
    """A set whose surroundings were not searched to the end is not taken for one without a picture."""
    made = world.add_channel("Old")
    world.limits.page = 10
    mirror.post_files(made, ["first.zip"])
    for number in range(25):
        post_photo(mirror, made, f"{number}.png")
        mirror.post_files(made, [f"{number}.zip"])
    await mirror.sync()
    await mirror.enable(made)
    await found(mirror)
    for _ in range(12):
        await look(mirror, calls=8)
    assert len(await kept(mirror)) == 26


async def test_a_photo_that_comes_later_is_waited_for(mirror: Mirror, channel: Channel) -> None:
    """ "There is none" is said only when a photo would come too late; then nothing is looked at any more."""
    now = (await mirror.rows("SELECT clock_now() AS now"))[0]["now"]
    for _ in range(40):
        mirror.world.post(channel, "talk")
    mirror.world.post(channel, file=mirror.world.add_file("late.zip", 10), date=now)
    await mirror.cycle()
    assert await look(mirror) == 0
    mirror.world.post(channel, file=mirror.world.add_photo("late.png"), date=now)
    await mirror.cycle()
    assert await look(mirror) == 1
    mirror.world.post(channel, file=mirror.world.add_file("none.zip", 10), sender=1_000_001)
    await found(mirror)
    async with mirror.counted() as calls:
        assert await look(mirror) == 0
    assert calls == Counter()
    [row] = await mirror.rows("SELECT preview_due FROM archives WHERE name = 'none.zip'")
    assert row["preview_due"] is False


async def test_a_preview_stays_in_its_topic(mirror: Mirror, world: World) -> None:
    """In a forum the nearest photo may be another topic's; with selected topics no other topic's message is kept."""
    forum = world.add_channel("Forum", forum=True)
    one, two = (world.add_topic(forum, title).id for title in ("One", "Two"))
    post_photo(mirror, forum, "one.png", topic=one)
    post_photo(mirror, forum, "two.png", topic=two)
    mirror.post_files(forum, ["one.zip"], topic=one)
    await mirror.sync()
    await mirror.enable(forum, one)
    await found(mirror)
    assert await look(mirror) == 1
    assert await kept(mirror) == {"one.zip": photo_sizes("one.png")["x"]}
    assert [row["topic"] for row in await mirror.rows("SELECT DISTINCT topic FROM messages")] == [one]


async def test_the_same_picture_is_kept_once(mirror: Mirror, channel: Channel) -> None:
    """By its hash; it goes with the last archive that shows it."""
    for number in range(3):
        post_photo(mirror, channel)
        mirror.post_files(channel, [f"{number}.zip"])
    await found(mirror)
    assert await look(mirror) == 3
    [row] = await mirror.rows("SELECT hash, content FROM pictures")
    assert row["hash"] == sha256(row["content"]).digest()
    await mirror.rows("DELETE FROM archives WHERE name <> '0.zip'")
    await mirror.pass_time(days=3)
    now = (await mirror.rows("SELECT clock_now() AS now"))[0]["now"]
    async with mirror.database.transaction() as connection:
        assert await previews.prune(connection, now, limit=10) == 0
    await mirror.rows("DELETE FROM archives")
    async with mirror.database.transaction() as connection:
        assert await previews.prune(connection, now, limit=10) == 1


async def test_what_is_no_picture_is_not_kept(mirror: Mirror, channel: Channel) -> None:
    """By its first bytes, whatever the platform calls it; it is asked for once, and the archive is none the worse."""
    false = mirror.world.add_content("cover.jpg", b"<svg onload=alert(1)>", kind=FileKind.PHOTO)
    mirror.world.post(channel, file=false)
    mirror.post_files(channel, ["dragon.zip"])
    await found(mirror)
    assert await look(mirror) == 0
    assert await troubles(mirror) == [(1, "It is no JPEG, PNG or WebP picture of at most 1 MiB.", False)]
    assert await mirror.rows("SELECT FROM failures") == []
    assert await mirror.rows("SELECT FROM pictures") == []


async def test_a_picture_too_large_is_not_even_asked_for(mirror: Mirror, channel: Channel) -> None:
    """At most 1 MiB travels for a preview."""
    mirror.world.post(channel, file=mirror.world.add_file("huge.jpg", (1 << 20) + 1, kind=FileKind.PHOTO))
    mirror.post_files(channel, ["dragon.zip"])
    await found(mirror)
    async with mirror.counted() as calls:
        assert await look(mirror) == 0
    assert calls == Counter({"channels.getMessages": 1})


async def test_a_refused_picture_is_tried_a_few_times(mirror: Mirror, channel: Channel) -> None:
    """Three tries, then it is let be; no failure of the archive, and other pictures are fetched meanwhile."""
    post_photo(mirror, channel, "good.png")
    mirror.post_files(channel, ["good.zip"])
    bad = mirror.world.add_photo("bad.png")
    mirror.world.post(channel, file=bad, sender=1_000_001)
    mirror.world.post(channel, file=mirror.world.add_file("bad.zip", 10), sender=1_000_001)
    await found(mirror)
    for tries in (1, 2, 3):
        mirror.world.faults.add(Fault(FaultKind.ERROR, "upload.getFile", code="400 LOCATION_INVALID"))
        assert await look(mirror) == (tries == 1)
        mirror.world.faults.clear()
        [(count, trouble, due)] = [row for row in await troubles(mirror) if row[1]]
        assert (count, due) == (tries, tries < 3)
        assert "LOCATION_INVALID" in trouble
    async with mirror.counted() as calls:
        await look(mirror)
    assert calls == Counter()
    assert await mirror.rows("SELECT FROM failures") == []


async def test_a_platform_that_refuses_the_search_is_asked_three_times(mirror: Mirror, world: World) -> None:
    """A channel whose photos cannot be searched for costs three calls, not one in every cycle."""
    made = world.add_channel("Old")
    mirror.post_files(made, ["a.zip", "b.zip"])
    await mirror.sync()
    await mirror.enable(made)
    await found(mirror)
    mirror.world.faults.add(Fault(FaultKind.ERROR, "messages.search", count=9, code="400 SEARCH_QUERY_EMPTY"))
    async with mirror.counted() as calls:
        for _ in range(5):
            assert await look(mirror) == 0
    mirror.world.faults.clear()
    assert calls == Counter({"messages.search": 3})


async def test_a_photo_deleted_since_is_none(mirror: Mirror, channel: Channel) -> None:
    """Its message is gone when it is fetched: said so, and not tried again."""
    number = post_photo(mirror, channel)
    mirror.post_files(channel, ["dragon.zip"])
    await mirror.cycle()
    mirror.world.delete(channel, [number])
    assert await look(mirror) == 0
    assert await troubles(mirror) == [(1, "Its message is no longer there.", False)]


async def test_a_sign_out_uses_up_no_try(mirror: Mirror, channel: Channel) -> None:
    """What ends the account's work ends this too, and whoever reads the channel next looks again."""
    post_photo(mirror, channel)
    mirror.post_files(channel, ["dragon.zip"])
    await mirror.cycle()
    mirror.world.faults.add(Fault(FaultKind.SIGNED_OUT, "upload.getFile"))
    with pytest.raises(SignedOut):
        await look(mirror)
    assert await troubles(mirror) == []
