"""Channels that an account sees."""

from __future__ import annotations

from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AccountId, ChannelId
from tidegate.database.pool import Database
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM


async def see(database: Database, kept: KnownChannel, titles: dict[int, str]) -> None:
    """Have the reader of a channel see others too."""
    seen = [Channel(ChannelId(number), title) for number, title in titles.items()]
    async with database.transaction() as connection:
        await channels.see(connection, TELEGRAM, kept.reader or AccountId(0), seen)
