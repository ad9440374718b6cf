"""Private chats through the adapter: their numbers, their heads, and the box they share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import types

from tests.platforms.telegram.conftest import Opens, all_channels
from tidegate.core.ids import AccountId, ChannelId, UserId
from tidegate.core.platform import MessageAddress
from tidegate.loopback.telegram import World
from tidegate.platforms.interface import BoxDifference, ChannelKind
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.chats.chat_numbers import ChatNumbers, chat_peer

IDS = st.integers(1, (1 << 40) - 1)
ACCOUNTS = st.integers(1, 1 << 20)


@given(account=ACCOUNTS, number=IDS, is_group=st.booleans())
def test_a_number_names_its_peer_and_no_channel(account: int, number: int, is_group: bool) -> None:
    """It can be read back, fits into the database, and is above every number that a channel has."""
    peer = types.PeerChat(number) if is_group else types.PeerUser(number)
    made = ChatNumbers(AccountId(account), UserId(5)).of(peer)
    assert made is not None
    assert chat_peer(made) == (number, is_group)
    assert 1 << 40 < made < 1 << 63


@given(one=st.tuples(ACCOUNTS, IDS, st.booleans()), other=st.tuples(ACCOUNTS, IDS, st.booleans()))
def test_two_chats_never_share_a_number(one: tuple[int, int, bool], other: tuple[int, int, bool]) -> None:
    """Neither by account, nor a person and a group of the same number."""

    def made(account: int, number: int, is_group: bool) -> ChannelId | None:
        peer = types.PeerChat(number) if is_group else types.PeerUser(number)
        return ChatNumbers(AccountId(account), UserId(5)).of(peer)

    assert (made(*one) == made(*other)) == (one == other)


def test_channels_and_impossible_numbers_have_none() -> None:
    """A channel keeps Telegram's own number, and a peer beyond Telegram's range is left out."""
    chats = ChatNumbers(AccountId(1), UserId(5))
    assert chats.of(types.PeerChannel(7)) is None
    assert chats.of_any(types.PeerChannel(7)) == 7
    assert chats.of(types.PeerUser(1 << 40)) is None
    assert chat_peer(ChannelId(7)) is None


def test_a_private_chat_has_no_links() -> None:
    """Telegram's links lead to channels only."""
    assert TELEGRAM.message_link is not None
    assert TELEGRAM.message_link(MessageAddress(ChannelId((1 << 41) + 5), 1)) is None
    assert TELEGRAM.message_link(MessageAddress(ChannelId(5), 1)) == "https://t.me/c/5/1"


async def test_they_are_listed_with_their_kinds_and_nobody_posts_there(opens: Opens, world: World) -> None:
    """A deleted account has Telegram's name for one, and one's own chat its usual title."""
    ada, bob = world.accounts.values()
    gone = world.add_private_chat(ada, world.add_person("Gone"))
    world.people[gone.peer_id].deleted = True
    world.add_private_chat(ada, ada)
    world.add_group("Family", [ada, bob])
    client = await opens()
    heads = {number: head for page in await all_channels(client) for number, head in page.heads.items()}
    found = [head.channel for head in heads.values() if head.channel is not None]
    assert {(one.title, one.kind) for one in found} == {
        ("Deleted Account", ChannelKind.PRIVATE_CHAT),
        ("Saved Messages", ChannelKind.PRIVATE_CHAT),
        ("Family", ChannelKind.GROUP),
    }
    assert not any(one.may_post for one in found)
    assert all(head.changes is None for head in heads.values())


async def test_a_difference_leads_on_slice_by_slice(opens: Opens, world: World) -> None:
    """Each part ends at a state to go on from, and the box is known once the last one came."""
    ada = world.accounts[1_000_001]
    chat = world.add_private_chat(ada, world.add_person("Ann"))
    client = await opens()
    await all_channels(client)
    since = await client.box_state()
    chat.pushes = False
    world.limits.page = 2
    for number in range(5):
        world.post(chat, f"text {number}")
    seen, parts = [], 0
    while True:
        answer = await client.box_difference(since)
        assert isinstance(answer, BoxDifference)
        seen += [message.text for updates in answer.updates.chats.values() for message in updates.posted]
        parts, since = parts + 1, answer.state
        if answer.final:
            break
    assert (seen, parts) == ([f"text {number}" for number in range(5)], 3)
    assert client.known_box() == since.changes == world.chats.box(ada.id).pts


async def test_an_own_message_names_its_author(opens: Opens, world: World) -> None:
    """Telegram leaves the author out in a chat of two; what the account sent is its own."""
    ada = world.accounts[1_000_001]
    chat = world.add_private_chat(ada, world.add_person("Ann"))
    world.post(chat, "mine", sender=ada.id)
    world.post(chat, "yours")
    client = await opens()
    [number] = [number for page in await all_channels(client) for number in page.heads]
    page = await client.page(number, before=None)
    assert [(one.text, one.author) for one in page.messages] == [("yours", "Ann"), ("mine", "Ada")]
    assert {one.id: one.author_id for one in (await client.messages(number, [1, 2])).values() if one} == {
        1: ada.id,
        2: chat.peer_id,
    }
