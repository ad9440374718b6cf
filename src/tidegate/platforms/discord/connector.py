"""How bots are connected to Discord, or to a loopback Discord on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from discord.http import Route

from tidegate.core.account import Account
from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput, PlatformError, SignedOut
from tidegate.core.rules.outgoing_proxy import ProxyAddress
from tidegate.platforms import loopback_address as control_of
from tidegate.platforms.account_proxy import proxy_of
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.discord.errors import INTENTS_MISSING, NOT_A_BOT
from tidegate.platforms.discord.gateway.connection import GatewayConnection
from tidegate.platforms.discord.gateway.gateway_events import GatewayEvents
from tidegate.platforms.discord.gateway.guild_cache import GuildCache
from tidegate.platforms.discord.message_content_intent import reads_content
from tidegate.platforms.discord.messages.json_values import text_in
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.rest import RestClient
from tidegate.platforms.discord.translation import me_of
from tidegate.platforms.interface import NoteConnect, Opener, Vault

SIGN_IN = "discord.sign-in"

FindLoopback = Callable[[str], Awaitable[str]]
"""Finds the address of the loopback Discord behind a control address, such as ``http://127.0.0.1:PORT``."""

_API = "/api/v10"
_GUILDS = 200


def discord_opener(clock: Clock, *, live: bool = True, find_loopback: FindLoopback | None = None) -> Opener:
    """Connects bots that are signed in; without *live* they get no gateway events, and every answer needs a call."""

    async def connect(account: Account, vault: Vault, note_connect: NoteConnect) -> DiscordAccount:
        token = await vault.read(SIGN_IN)
        if token is None:
            raise SignedOut(f'Account "{account.name}" is not signed in to Discord.')
        proxy = await proxy_of(vault)
        rest = await door(account, clock, note_connect, find_loopback or ask_control, proxy=proxy)
        events = GatewayEvents(GuildCache())
        gateway = GatewayConnection(rest, events, clock, note_connect) if live else None
        try:
            me = await introduce(rest, token.decode())
            if gateway is not None:
                await gateway.open()
            else:
                titles = await _my_guilds(rest)
                events.guilds.begin(me["id"], titles)
                for guild, title in titles.items():
                    events.guilds.take_title(guild, title)
        except BaseException:
            if gateway is not None:
                await gateway.close()
            await rest.close()
            raise
        return DiscordAccount(rest, events, gateway, me_of(me))

    return connect


async def door(
    account: Account,
    clock: Clock,
    note_connect: NoteConnect,
    find_loopback: FindLoopback,
    *,
    proxy: ProxyAddress | None = None,
) -> RestClient:
    """The REST client of an account: for the real Discord, or the loopback one it was added with."""
    if account.loopback is None:
        return RestClient(clock, note_connect, proxy=proxy)
    address = await find_loopback(account.loopback)
    if not address.startswith("http://127.0.0.1:"):
        raise BadInput(f"{address} is no loopback Discord: those listen on 127.0.0.1.")
    return RestClient(clock, note_connect, base=address.rstrip("/") + _API, proxy=proxy)


async def introduce(rest: RestClient, token: str) -> Json:
    """Sign in with the token; returns its owner. Raises unless that is a bot that may read message content."""
    me: Json = dict(await rest.static_login(token))
    if not me.get("bot"):
        raise SignedOut(NOT_A_BOT)
    if not reads_content(await rest.request(Route("GET", "/applications/@me"))):
        raise PlatformError(INTENTS_MISSING)
    return me


async def _my_guilds(rest: RestClient) -> dict[str, str]:
    """The guilds the bot is in, with their names; a gateway sends them without a call."""
    found: dict[str, str] = {}
    while True:
        after = {"after": max(found, key=int)} if found else {}
        page = await rest.request(Route("GET", "/users/@me/guilds"), params={"limit": _GUILDS, **after})
        found |= {one["id"]: text_in(one.get("name")) for one in sorted(page, key=lambda one: int(one["id"]))}
        if len(page) < _GUILDS:
            return found


async def ask_control(control: str) -> str:
    """Ask a loopback process where its Discord is."""
    return await control_of.where(control, DISCORD)
