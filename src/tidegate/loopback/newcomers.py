"""Accounts of the demo's world that nobody has signed in yet, one a platform, and what signing them in takes."""

from __future__ import annotations

from urllib.parse import quote

from tidegate.loopback.discord.making import find_bot
from tidegate.loopback.discord.schema import BotSpec
from tidegate.loopback.platforms import Platforms
from tidegate.loopback.telegram.schema import AccountSpec
from tidegate.loopback.whatsapp.schema import GroupSpec, PhoneSpec

PERSON = AccountSpec(phone="+10000000002", name="Bea", password="spring tide")  # noqa: S106 - of nobody
BOT = BotSpec(name="Beacon")
PHONE = PhoneSpec(phone="+6281200000002", name="Market")
GROUPS = GroupSpec(name="Market stall", count=10, members=[PHONE.phone])


def what_to_type(platforms: Platforms, control: str) -> list[str]:
    """A sentence a platform: what its questions are answered with, and where a code or a phone is found."""
    token = platforms.discord.world.token(find_bot(platforms.discord.world, BOT.name))
    return [
        f"Telegram: the phone number {PERSON.phone}, the code that {control}/telegram/code?phone={quote(PERSON.phone)} "
        f'tells, and the password "{PERSON.password}".',
        f"Discord: the token {token}",
        f"WhatsApp: open {control}/whatsapp/pair?phone={PHONE.name} and a phone scans the picture, "
        f"or types the code that you get with the number {PHONE.phone}.",
    ]
