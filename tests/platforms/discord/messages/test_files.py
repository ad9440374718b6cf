"""Files wherever a Discord message shows them, and only those on Discord's own hosts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.discord.sample_messages import AT, EVERY_KIND, sample
from tidegate.platforms.discord.messages.files import (
    expiry_of,
    files_of,
    further_files_by_role,
    further_files_of,
    own_address,
)
from tidegate.platforms.interface import FileForm, FileRole

SIGNED = "https://cdn.discordapp.com/attachments/1/77/a.png?ex=66a0b5c0&is=1&hm=ff&"


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
    """The same file has the same number wherever it is shown, so it is fetched once."""
    [file] = further_files_of({"embeds": [{"image": {"url": SIGNED, "proxy_url": "https://evil.example/x"}}]})
    assert (file.id, file.handle, file.role) == (77, SIGNED, FileRole.EMBED)
    assert file.valid_until == datetime.fromtimestamp(0x66A0B5C0, UTC)


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
        (55, "anchor", FileRole.EMOJI), (66, "wave", FileRole.EMOJI),
    ]  # fmt: skip
    assert [file.handle.endswith("?animated=true") for file in found] == [False, True]


def test_a_part_of_a_message_names_only_the_places_it_mentions() -> None:
    """A preview that Discord fills in later does not remove the files of other places."""
    assert further_files_by_role({"flags": 4}) == {}
    assert further_files_by_role({"content": "x"}) == {FileRole.EMOJI: ()}
    assert further_files_by_role({"embeds": []}) == {FileRole.EMBED: ()}
