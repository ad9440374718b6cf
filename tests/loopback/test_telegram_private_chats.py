"""Private chats and small groups of a loopback Telegram, over the control address and with an unmodified client."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from telethon import TelegramClient
from telethon.tl import functions, types

from tests.held import NOON
from tests.loopback.conftest import Connects
from tests.waiting import until
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.schema import WorldSpec
from tidegate.loopback.telegram.world.world_builder import make_world
from tidegate.loopback.telegram.world.world_snapshot import from_plain, to_plain

ADA, BOB = "1000001", "1000002"
WORLD: dict[str, Any] = {
    "seed": 1,
    "telegram": {
        "accounts": [{"phone": f"+{ADA}", "name": "Ada"}, {"phone": f"+{BOB}", "name": "Bob"}],
        "people": [{"name": "Ann"}],
        "private_chats": [
            {"account": f"+{ADA}", "other": "Ann", "messages": 3},
            {"account": f"+{ADA}", "other": f"+{BOB}", "messages": 2},
            {"account": f"+{BOB}"},
        ],
        "groups": [{"title": "Family", "accounts": [f"+{ADA}", f"+{BOB}"], "messages": 2}],
    },
}


@pytest.fixture
async def control(asking: httpx.AsyncClient) -> httpx.AsyncClient:
    """The control address, with the world above."""
    assert (await asking.put("/world", json=WORLD)).status_code == 200
    return asking


async def truth(control: httpx.AsyncClient, name: str) -> dict[int, str]:
    answer = await control.get(f"/truth/telegram/{name}")
    assert answer.status_code == 200, answer.text
    return {row["id"]: row["text"] for row in answer.json()}


async def tell(control: httpx.AsyncClient, what: str, **body: Any) -> Any:
    answer = await control.post(f"/telegram/{what}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_world_has_a_view_for_each_account(control: httpx.AsyncClient) -> None:
    """Each has its own numbers, which count over all its chats; PHONE/TITLE names a view."""
    names = [one["name"] for one in (await control.get("/telegram/chats")).json()]
    assert names == [
        f"{ADA}/Ann",
        f"{ADA}/Bob",
        f"{BOB}/Ada",
        f"{BOB}/Saved Messages",
        f"{ADA}/Family",
        f"{BOB}/Family",
    ]
    assert list(await truth(control, f"{ADA}/Bob")) == [4, 5]
    assert list(await truth(control, f"+{BOB}/Ada")) == [1, 2]


async def test_what_happens_in_one_view_happens_in_the_other(control: httpx.AsyncClient) -> None:
    """A post, an edit and a deletion, each under the numbers of its view."""
    await tell(control, "post", channel=f"{ADA}/Bob", text="hello", author="Ada")
    await tell(control, "edit", channel=f"{ADA}/Bob", id=4, text="edited")
    await tell(control, "delete", channel=f"{BOB}/Ada", ids=[2])
    mine, theirs = await truth(control, f"{ADA}/Bob"), await truth(control, f"{BOB}/Ada")
    assert list(mine.values()) == list(theirs.values()) == ["edited", "hello"]
    assert not mine.keys() & theirs.keys()


async def test_a_group_moves(control: httpx.AsyncClient) -> None:
    """It becomes a channel; both say so in a service message, and the old one keeps what it has."""
    made = (await tell(control, "change", channel=f"{ADA}/Family", migrated=True))["channel"]
    rows = (await control.get(f"/truth/telegram/{ADA}/Family")).json()
    assert rows[-1]["raw"]["action"] == {"_": "MessageActionChatMigrateTo", "channel_id": made}
    assert len(rows) == 4
    chats = {one["name"]: one["moved_to"] for one in (await control.get("/telegram/chats")).json()}
    assert chats[f"{BOB}/Family"] == made


async def test_one_that_is_not_there_is_refused(control: httpx.AsyncClient) -> None:
    """With a sentence that names it."""
    answer = await control.post("/telegram/post", json={"channel": f"{BOB}/Ann", "text": "x"})
    assert (answer.status_code, f"{BOB}/Ann" in answer.text) == (422, True)


def test_equal_input_gives_an_equal_world_which_can_be_kept() -> None:
    """Whatever time it is; stored and read back, numbers and boxes go on where they were."""
    spec = WorldSpec.model_validate(WORLD)
    plain = to_plain(make_world(spec, HeldClock(NOON)), 1)
    assert plain == to_plain(make_world(spec, SystemClock()), 1)
    again, _ = from_plain(json.loads(json.dumps(plain)), HeldClock(NOON))
    assert to_plain(again, 1) == plain
    view = again.channel(f"{ADA}/Bob")
    again.delete(view, [4])
    assert again.post(view, "next").id == 9
    assert list(again.channel(f"{BOB}/Ada").messages) == [2, 6]


class TestByAClient:
    """What the platform tells an unmodified Telethon."""

    @pytest.fixture
    async def ada(self, control: httpx.AsyncClient, connect: Connects) -> TelegramClient:
        return await connect(f"+{ADA}")

    async def test_its_dialogs_and_messages_are_its_own(self, ada: TelegramClient) -> None:
        """Dialogs without a pts, pages of history, and messages by numbers that count over all chats."""
        found = await ada(functions.messages.GetDialogsRequest(None, 0, types.InputPeerEmpty(), 100, 0))
        assert sorted(type(one.peer).__name__ for one in found.dialogs) == ["PeerChat", "PeerUser", "PeerUser"]
        assert [one.pts for one in found.dialogs] == [None] * 3
        page = await ada(functions.messages.GetHistoryRequest(types.InputPeerChat(400_001), 0, None, 0, 100, 0, 0, 0))
        assert [one.message for one in page.messages][:2] == ["Message 2 of Family", "Message 1 of Family"]
        by_number = await ada(functions.messages.GetMessagesRequest([types.InputMessageID(n) for n in (1, 4, 99)]))
        assert [type(one).__name__ for one in by_number.messages] == ["Message", "Message", "MessageEmpty"]

    async def test_it_is_pushed_short_forms_and_deletions_without_a_chat(
        self, ada: TelegramClient, telegram: TelegramServer
    ) -> None:
        """A plain text is a short update, an edit a whole one, and a deletion names no chat; each moves the pts."""
        world = telegram.world
        heard: list[Any] = []
        ada.add_event_handler(heard.append)
        view, group = world.channel(f"{ADA}/Ann"), world.channel(f"{ADA}/Family")
        before = world.chats.box(view.owner).pts
        await ada(functions.updates.GetStateRequest())
        world.post(view, "short")
        world.post(group, "short as well")
        world.edit(view, 1, text="edited")
        world.delete(view, [2])
        await until(lambda: len(heard) >= 4)
        assert world.chats.box(view.owner).pts == before + 4
        kinds = [type(one).__name__ for one in heard]
        assert "UpdateDeleteMessages" in kinds
        assert not any(getattr(one, "channel_id", 0) for one in heard if type(one).__name__ == "UpdateDeleteMessages")

    async def test_its_difference_lists_what_it_missed(self, ada: TelegramClient, telegram: TelegramServer) -> None:
        """Empty, whole, in slices, and too long; what was posted and deleted meanwhile is in none."""
        world = telegram.world
        view = world.channel(f"{ADA}/Ann")
        state = await ada(functions.updates.GetStateRequest())

        async def difference(pts: int) -> Any:
            return await ada(functions.updates.GetDifferenceRequest(pts=pts, date=state.date, qts=state.qts))

        assert isinstance(await difference(state.pts), types.updates.DifferenceEmpty)
        view.pushes = False
        gone = world.post(view, "gone").id
        world.post(view, "kept")
        world.delete(view, [gone])
        whole = await difference(state.pts)
        assert isinstance(whole, types.updates.Difference)
        assert ([one.message for one in whole.new_messages], whole.other_updates) == (["kept"], [])
        world.limits.page = 1
        assert isinstance(await difference(state.pts), types.updates.DifferenceSlice)
        world.chats.box(view.owner).oldest_pts = whole.state.pts
        assert isinstance(await difference(state.pts), types.updates.DifferenceTooLong)
