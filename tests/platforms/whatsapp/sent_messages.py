"""Messages sent by a WhatsApp client."""

from __future__ import annotations

from tests.waiting import until
from tidegate.core.errors import NotSent
from tidegate.loopback.whatsapp.world import Group
from tidegate.platforms.interface import Receipt, SendKey
from tidegate.platforms.whatsapp.client import WhatsAppAccount
from tidegate.platforms.whatsapp.group_ids import number_of

KEY = SendKey("one")


async def say(client: WhatsAppAccount, group: Group, text: str = "hello") -> Receipt:
    return await client.send(number_of(group.id), text, key=KEY)


async def until_back(client: WhatsAppAccount, group: Group) -> None:
    """Until a send goes through again; nothing leaves while nothing is connected, so none is sent twice."""
    await until(lambda: is_back(client, group))


async def is_back(client: WhatsAppAccount, group: Group) -> bool:
    try:
        await say(client, group, "back")
    except NotSent:
        return False
    return True
