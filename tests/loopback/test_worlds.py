"""The file a world is read from, and the one it is kept in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.whatsapp import WhatsAppServer
from tidegate.loopback.world_document import SMALL_WORLD, load_worlds, read_world
from tidegate.loopback.world_file import save


def test_a_world_file_describes_every_platform(tmp_path: Path) -> None:
    """What ``PUT /world`` takes; a platform that is left out is empty."""
    file = tmp_path / "world.json"
    file.write_text(SMALL_WORLD.model_dump_json())
    assert read_world(file) == SMALL_WORLD
    file.write_text('{"telegram": {"channels": []}}')
    assert read_world(file).discord.guilds == []


def test_a_world_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Missing, or with a field that does not exist: the sentence names the place."""
    with pytest.raises(BadInput, match="cannot be read"):
        read_world(tmp_path / "none.json")
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"telegram": {"chanels": []}}))
    with pytest.raises(BadInput, match=r"telegram\.chanels"):
        read_world(wrong)
    wrong.write_text(json.dumps({"discord": {"guilds": [{"name": "a", "chanels": 3}]}}))
    with pytest.raises(BadInput, match=r"discord\.guilds\.0\.chanels"):
        read_world(wrong)


def test_all_platforms_are_kept_in_one_file(
    tmp_path: Path, telegram: TelegramServer, discord_server: DiscordServer, whatsapp: WhatsAppServer
) -> None:
    """Each comes back with its world and its port."""
    file = tmp_path / "state.json"
    telegram.world.add_channel("News")
    shops = whatsapp.world.add_group("Shops")
    before = whatsapp.world.post(shops, "10000009999", "text", "hello")
    save(file, Platforms(telegram, discord_server, whatsapp))
    (first, telegram_port), (second, discord_port), (third, whatsapp_port) = load_worlds(file, SystemClock())
    assert (telegram_port, discord_port, whatsapp_port) == (telegram.port, discord_server.port, whatsapp.port)
    assert third.group("Shops") == shops
    assert third.post(third.group("Shops"), "10000009999", "text", "again").id != before.id
    assert first.channel("News").id == telegram.world.channel("News").id
    assert second.channel("general") == discord_server.world.channel("general")


@pytest.mark.parametrize("text", ['{"form": 3', '{"form": 3}', '{"form": 3, "telegram": {}}', "[]"])
def test_a_file_that_keeps_no_world_is_refused(tmp_path: Path, text: str) -> None:
    """The sentence says what to do; nothing is overwritten."""
    broken = tmp_path / "state.json"
    broken.write_text(text)
    with pytest.raises(BadInput, match="keeps no loopback world"):
        load_worlds(broken, SystemClock())
    assert broken.read_text() == text


def test_a_file_of_another_release_is_refused(tmp_path: Path) -> None:
    """It is not guessed at."""
    older = tmp_path / "state.json"
    older.write_text('{"form": 1}')
    with pytest.raises(BadInput, match="another release"):
        load_worlds(older, SystemClock())
