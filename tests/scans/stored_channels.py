"""Accounts, channels and messages as other tests find them stored."""

from __future__ import annotations

from tests.held import NOON
from tidegate.accounts.queries import accounts
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel, MirrorOptions
from tidegate.core.account import Standing
from tidegate.core.ids import AccountId, ChannelId, MessageId
from tidegate.database.pool import Connection
from tidegate.platforms.interface import Channel, Message
from tidegate.platforms.telegram import TELEGRAM

POLICY = RetryPolicy()


async def add_account(connection: Connection, name: str) -> AccountId:
    return await accounts.add(connection, name, TELEGRAM, Standing.NORMAL, loopback=None)


async def add_channel(
    connection: Connection, account: AccountId, number: int = 7, *, wishes: MirrorOptions | None = None
) -> KnownChannel:
    """A channel that the account sees and mirrors."""
    seen = Channel(ChannelId(number), f"Channel {number}", forum=True)
    await channels.see(connection, TELEGRAM, account, [seen])
    await channels.enable(connection, await channels.find(connection, str(number)), wishes or MirrorOptions())
    return await channels.find(connection, str(number))


def message(number: int, text: str = "hello") -> Message:
    return Message(MessageId(number), NOON, "Ada", text)
