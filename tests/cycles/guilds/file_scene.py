"""Files of a loopback Discord's channel that are fetched into a folder."""

from __future__ import annotations

from pathlib import Path

from tests.cycles.guilds.conftest import GuildMirror
from tests.media.fetching_scene import FileScene
from tidegate.lanes import Lane
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.history import Attachment
from tidegate.loopback.discord.world.places import Channel


class GuildFiles(FileScene):
    """A channel of a server, mirrored by a bot."""

    def __init__(self, mirror: GuildMirror, channel: Channel, folder: Path) -> None:
        super().__init__(folder, mirror.database)
        self.mirror = mirror
        self.channel = channel

    @property
    def world(self) -> World:
        return self.mirror.world

    @property
    def lane(self) -> Lane:
        return self.mirror.lane

    def post(self, text: str, *files: Attachment) -> int:
        return self.world.post(self.channel, text, attachments=files).id

    async def mirrored(self, text: str, *files: Attachment) -> None:
        """A message with these files is posted, and stored."""
        self.post(text, *files)
        await self.mirror.cycle()
