"""Accounts of the demo that are not signed in yet, one per platform, and what to type to sign them in."""

from __future__ import annotations

from urllib.parse import quote

from tidegate.loopback.discord.world.schema import BotSpec
from tidegate.loopback.discord.world.world_builder import find_bot
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram.world.schema import AccountSpec
from tidegate.loopback.whatsapp.schema import GroupSpec, PhoneSpec

PERSON = AccountSpec(phone="+10000000002", name="Bea", password="spring tide")  # noqa: S106 - not a real account
BOT = BotSpec(name="Beacon")
PHONE = PhoneSpec(phone="+6281200000002", name="Market")
GROUPS = GroupSpec(name="Market stall", count=10, members=[PHONE.phone])


def what_to_type(platforms: Platforms, control: str) -> list[str]:
    """One sentence per platform: what to answer, and where to find a code or a phone."""
    token = platforms.discord.world.token(find_bot(platforms.discord.world, BOT.name))
    return [
        f"Telegram: the phone number {PERSON.phone}, the code that {control}/telegram/code?phone={quote(PERSON.phone)} "
        f'tells, and the password "{PERSON.password}".',
        f"Discord: the token {token}",
        f"WhatsApp: open {control}/whatsapp/pair?phone={PHONE.name} and a phone scans the picture, "
        f"or types the code that you get with the number {PHONE.phone}.",
    ]
