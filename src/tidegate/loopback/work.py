"""What a worker does with loopback accounts in this release: it connects them, and looks at a channel now and then."""

from __future__ import annotations

from datetime import timedelta

from tidegate.clock import SystemClock
from tidegate.errors import PlatformError
from tidegate.lanes import Lane
from tidegate.loopback.client import counting_opener
from tidegate.loopback.control import ask_control
from tidegate.port import ChannelId, Client, NoteConnect, Opener, Vault
from tidegate.words import Account, Platform

LOOK_EVERY = timedelta(seconds=1)


def openers() -> dict[Platform, Opener]:
    """Connects an account to the loopback platform it was added with."""
    return dict.fromkeys(Platform, _open)


async def _open(account: Account, vault: Vault, note_connect: NoteConnect) -> Client:
    if account.loopback is None:
        raise PlatformError(f"This release has no adapter for {account.platform.value} yet.")
    where = await ask_control(account.loopback)
    return await counting_opener(where["counting"])(account, vault, note_connect)


async def look_now_and_then(lane: Lane) -> None:
    while True:
        await lane.heads([ChannelId(1)])
        await SystemClock().sleep(LOOK_EVERY)
