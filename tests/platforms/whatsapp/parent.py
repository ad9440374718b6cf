"""A process that connects an account and then waits to be killed or frozen; prints its child's number."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

from tests.platforms.drawer import Drawer
from tests.platforms.whatsapp.people import NoSessions, account
from tidegate.core.clock import SystemClock
from tidegate.platforms.whatsapp.client import WhatsAppAccount
from tidegate.platforms.whatsapp.connector import DEVICE, whatsapp_opener


async def main(address: str, device: str, silent_after: str) -> None:
    async def find(_: str) -> str:
        return address

    opener = whatsapp_opener(
        SystemClock(), NoSessions(), silent_after=timedelta(seconds=float(silent_after)), find_loopback=find
    )
    client = await opener(account(), Drawer({DEVICE: device.encode()}), lambda _: None)
    assert isinstance(client, WhatsAppAccount)
    print("child", client.pid, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
