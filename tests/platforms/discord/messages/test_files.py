"""Files wherever a Discord message shows them, and only those on Discord's own hosts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.media.kept_files import keep
from tests.media.stored_media import full_channel, picture, stored, with_files
from tests.platforms.discord.sample_messages import AT, EVERY_KIND, sample
from tidegate.core.ids import MessageId
from tidegate.database.pool import Database
from tidegate.media.queries import served_files
from tidegate.platforms.discord.messages.files import (
    expiry_of,
    files_of,
    further_files_by_role,
    further_files_of,
    own_address,
)
from tidegate.platforms.interface import FileForm, FileRole

SIGNED = "https://cdn.discordapp.com/attachments/1/77/a.png?ex=66a0b5c0&is=1&hm=ff&"


def test_a_guilds_own_emoji_of_reactions_are_files() -> None:
    """Named as the reaction is, and read from Discord's own address; others have no file."""
    emoji = [{"id": "77", "name": "wave", "animated": True}, {"id": None, "name": "❤"}, {"id": "78", "name": None}]
    found = further_files_of({"reactions": [{"emoji": one, "count": 1} for one in emoji]})
    assert [(file.name, file.role) for file in found] == [("wave:77", FileRole.REACTION), (":78", FileRole.REACTION)]
    assert found[0].handle == "https://cdn.discordapp.com/emojis/77.webp?animated=true"
    assert all(file.id < 0 for file in found)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_file_has_a_handle_at_discord(kind: str) -> None:
    """No kind of message gives a file that would be read from elsewhere, and none gives one twice."""
    found = sample(kind)
    files = [*files_of(found), *further_files_of(found)]
    assert len({file.id for file in files}) == len(files)
    for file in files:
        assert file.handle.startswith((AT, "https://cdn.discordapp.com/", "https://media.discordapp.net/")) or (
            file.handle.startswith("https://images-ext-")
        )


def test_files_in_other_places_are_found() -> None:
    """Embeds, components, forwards and stickers bring files that the list of attachments leaves out."""
    roles = {kind: {file.role for file in further_files_of(sample(kind))} for kind in EVERY_KIND}
    assert {FileRole.EMBED, FileRole.COMPONENT, FileRole.FORWARD, FileRole.STICKER} <= set().union(*roles.values())


def test_a_file_that_an_embed_shows_is_the_attachment() -> None:
    """The same file has the same number wherever a message shows it, so it is fetched once."""
    embeds = [{"image": {"url": SIGNED, "proxy_url": "https://evil.example/x"}}]
    [file] = further_files_of({"embeds": embeds})
    assert (file.handle, file.role) == (SIGNED, FileRole.EMBED)
    assert file.valid_until == datetime.fromtimestamp(0x66A0B5C0, UTC)
    listed = {"attachments": [{"id": "77", "url": SIGNED}], "embeds": embeds}
    assert further_files_of(listed) == ()
    [forwarded] = further_files_of({"message_snapshots": [{"message": listed}]})
    assert forwarded.id == 77


def test_a_number_that_a_sender_wrote_is_no_attachment() -> None:
    """An emoji in a text and an address in an embed never name a file of another channel."""
    embeds = [{"image": {"url": SIGNED}, "author": {"icon_url": SIGNED.replace("a.png", "b.png")}}]
    rows = [
        *further_files_of({"channel_id": "5", "content": "<:ab:77>", "embeds": embeds}),
        *further_files_of({"channel_id": "6", "embeds": embeds, "components": [{"media": {"url": SIGNED}}]}),
    ]
    assert len({file.id for file in rows}) == len(rows) == 5
    assert all(file.id < 0 for file in rows)


async def test_a_file_of_one_channel_is_not_served_through_another(database: Database) -> None:
    """The kept attachment 77 of A is not that of B's emoji or embed."""
    embeds = [{"image": {"url": SIGNED}}]
    b_files = further_files_of({"channel_id": "8", "content": "<:ab:77>", "embeds": embeds})
    async with database.transaction() as connection:
        a, b = await full_channel(connection, 7, "a"), await full_channel(connection, 8, "b")
        await stored(connection, a, with_files(1, picture(77)))
        await keep(connection, a, {77: b"secret"})
        await stored(connection, b, with_files(1, further=b_files))
        own = await served_files.find(connection, a.key, MessageId(1), 1)
        assert own is not None
        assert own.whole is not None
        for number in range(1, len(b_files) + 1):
            shown = await served_files.find(connection, b.key, MessageId(1), number)
            assert shown is not None
            assert (shown.whole, shown.thumbnail) == (None, None)


def test_a_picture_on_another_site_is_read_from_discords_copy() -> None:
    """The address in a message is never followed; Discord's copy has a number that is derived from its address."""
    proxy = "https://images-ext-1.discordapp.net/external/abc/https/example.com/a.png"
    embeds = [{"thumbnail": {"url": "https://example.com/a.png", "proxy_url": proxy}}]
    [file] = further_files_of({"embeds": embeds})
    assert file.handle == proxy
    assert file.id < 0
    assert further_files_of({"embeds": [{"thumbnail": {"url": "https://example.com/a.png"}}]}) == ()


@pytest.mark.parametrize(
    "address",
    [
        "http://cdn.discordapp.com/attachments/1/2/a.png",
        "https://cdn.discordapp.com.evil.example/a.png",
        "https://cdn.discordapp.com@evil.example/a.png",
        "https://cdn.discordapp.com:8443/a.png",
        "https://evil.example/?https://cdn.discordapp.com/",
        "http://127.0.0.1@evil.example/a.png",
        "https://[::1",
        "file:///etc/passwd",
        "",
    ],
)
def test_other_hosts_give_no_files(address: str) -> None:
    """However an address is dressed up, only Discord's hosts over https are asked."""
    assert own_address(address) == ""


@given(st.text())
def test_no_address_breaks_the_reader(address: str) -> None:
    """Addresses come from outside."""
    own_address(address)
    expiry_of(address)
    further_files_of({"embeds": [{"image": {"url": address, "proxy_url": address}}]})


def test_stickers_are_files_of_their_own() -> None:
    """Each format has its own ending; GIF stickers are on the media host."""
    rows = [{"id": str(number), "name": "s", "format_type": number} for number in (1, 2, 3, 4, 9)]
    found = further_files_of({"sticker_items": rows})
    assert [file.handle.rpartition("/")[2] for file in found] == ["1.png", "2.png", "3.json", "4.gif"]
    assert {file.form for file in found} == {FileForm.STICKER}


def test_emoji_of_a_guild_in_a_text_are_files() -> None:
    """Each once, by its number; an animated one is asked for as such."""
    found = further_files_of({"content": "ahoy <:anchor:55> <a:wave:66> <:anchor:55> <:no:x> :smile:"})
    assert [(file.id, file.name, file.role) for file in found] == [
        (found[0].id, "anchor:55", FileRole.EMOJI), (found[1].id, "wave:66", FileRole.EMOJI),
    ]  # fmt: skip
    assert ["/55." in file.handle for file in found] == [True, False]
    assert [file.handle.endswith("?animated=true") for file in found] == [False, True]


def test_a_part_of_a_message_names_only_the_places_it_mentions() -> None:
    """A preview that Discord fills in later does not remove the files of other places."""
    assert further_files_by_role({"flags": 4}) == {}
    assert further_files_by_role({"content": "x"}) == {FileRole.EMOJI: ()}
    assert further_files_by_role({"embeds": []}) == {FileRole.EMBED: ()}
