"""``tidegate account``: connected accounts, and the worker that serves each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.app.platform_registry import platforms
from tidegate.cli import command_runner
from tidegate.cli.accounts.sign_in_prompts import TerminalPrompts, standing_of
from tidegate.cli.options import AccountName, Json, PlatformName
from tidegate.core import terminal
from tidegate.core.account import AccountState, Standing
from tidegate.core.errors import BadInput, PlatformError
from tidegate.core.platform import Platform, platform_named
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import readable_time

if TYPE_CHECKING:
    from tidegate.accounts.queries.accounts import ListedAccount
    from tidegate.app.composition import Runtime
    from tidegate.core.rules.outgoing_proxy import ProxyAddress


def _brands(fact: str) -> str:
    """The platforms of which a fact is true, as people know them."""
    return " and ".join(one.brand for one in platforms() if getattr(one, fact))


app = typer.Typer(help="Connected accounts, and the worker that serves each.", no_args_is_help=True)
Phone = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help=f"{_brands('links_by_phone')}: show a code to type on this phone instead of a QR code.",
    ),
]
Proxy = Annotated[
    str | None,
    typer.Option(
        metavar="URL|-|none",
        help="The proxy to use; none removes it. With - it is asked for and stays out of the process list.",
    ),
]
HEARD_WITHIN = timedelta(seconds=10)
_ADD_HELP = f"""Add an account and sign it in.

Answers are typed at the terminal, or read from standard input, one per line. What each platform asks for:

{chr(10).join(f"{one.brand}: {one.sign_in_needs}." for one in platforms())}
"""


@app.command(help=_ADD_HELP)
def add(
    platform: Annotated[PlatformName, typer.Argument(help=f"One of {', '.join(PlatformName)}.")],
    name: AccountName,
    *,
    standing: Annotated[
        Standing | None,
        typer.Option(help="How well the platform knows the account; a new one sends slowly. The default is normal."),
    ] = None,
    phone: Phone = None,
    loopback: Annotated[
        str | None,
        typer.Option(metavar="CONTROL_URL", help="Use the loopback platform at this address instead of the real one."),
    ] = None,
    proxy: Proxy = None,
) -> None:
    command_runner.run(_add(platform_named(platform), name, standing, phone=phone, loopback=loopback, proxy=proxy))


async def _add(
    platform: Platform,
    name: str,
    standing: Standing | None,
    *,
    phone: str | None,
    loopback: str | None,
    proxy: str | None,
) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_setup import join, list_at_once, new_account
    from tidegate.platforms import loopback_address

    if phone is not None and not platform.links_by_phone:
        raise BadInput(f"--phone is for {_brands('links_by_phone')}, whose codes are typed into a phone.")
    if loopback is not None:
        try:
            await loopback_address.get(loopback, "/")
        except PlatformError as problem:
            raise BadInput(str(problem)) from problem
    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            await accounts.require_new_name(connection, name)
        address = await _proxy_address(proxy)
        known = standing or await standing_of(platform)
        new = new_account(name, platform, known, loopback)
        me = await join(runtime, new, TerminalPrompts(platform, phone), proxy=address)
        is_listed = await list_at_once(runtime.database, name)
    terminal.say(f"Signed in as {me.name}.")
    terminal.say(f'Added {platform.name} account "{name}". A worker serves it: tidegate worker, or tidegate serve.')
    by_hand = f"List its channels and groups: tidegate channel sync {name}"
    terminal.say("Its channels and groups are being listed." if is_listed else by_hand)


@app.command("sign-in")
def sign_in(
    name: AccountName,
    phone: Phone = None,
) -> None:
    """Sign in again after the platform signed the account out. Channels, reminders and runs stay as they are."""
    command_runner.run(_sign_in(name, phone))


async def _sign_in(name: str, phone: str | None) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_setup import rejoin

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        me = await rejoin(runtime, account, TerminalPrompts(account.platform, phone))
    terminal.say(f'Account "{name}" is signed in again, as {me.name}.')


@app.command("list")
def list_(*, json: Json = False) -> None:
    """List accounts: state, worker, pace, and what to do next."""
    command_runner.run(_list(as_json=json))


async def _list(*, as_json: bool) -> None:
    from tidegate.app.account_documents import account_rows

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        rows = [asdict(row) for row in await account_rows(connection, runtime.settings)]
    if as_json:
        terminal.print_json(rows)
        return
    columns = ["name", "platform", "state", "served_by", "pace", "paused_until", "next_action"]
    columns += [column for column in ("why", "unreachable_why", "offer") if any(row[column] for row in rows)]
    lines = [_readable(row) for row in sorted(rows, key=lambda row: natural_key(row["name"]))]
    empty = "No accounts yet; add one with: tidegate account add"
    terminal.print_rows(columns, lines, empty=empty, important="name")


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of an account as people read them."""
    times = {name: readable_time(row[name]) for name in ("paused_until", "unreachable_since")}
    return {**row, **times, "state": row["state"].replace("_", " ")}


@app.command()
def show(name: AccountName, *, json: Json = False) -> None:
    """Show one account."""
    command_runner.run(_show(name, as_json=json))


async def _show(name: str, *, as_json: bool) -> None:
    from tidegate.app.account_documents import account_row

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        row = asdict(await account_row(connection, name, runtime.settings))
    if as_json:
        terminal.print_json(row)
    else:
        terminal.print_values((name, value) for name, value in _readable(row).items() if name != "epoch")


@app.command()
def pause(name: AccountName) -> None:
    """Stop all platform calls of an account until it is resumed."""
    command_runner.run(_change(name, AccountState.PAUSED, [AccountState.ACTIVE]))


@app.command()
def resume(name: AccountName) -> None:
    """Let an account work again after a pause or a ban."""
    command_runner.run(_change(name, AccountState.ACTIVE, [AccountState.PAUSED, AccountState.BANNED]))


async def _change(name: str, state: AccountState, expected: Iterable[AccountState]) -> None:
    from tidegate.accounts.queries import accounts

    async with command_runner.runtime() as runtime:
        async with runtime.database.transaction() as connection:
            found = await accounts.find(connection, name)
            changed = await accounts.change_state(connection, found.account.id, state, expected=expected)
        if not changed and found.account.state is not state:
            raise BadInput(found.account.stands)
        heard = await _tell_owner(runtime, found) if found.served_by else False
    who = f"; {found.served_by} has been notified" if heard else "; the next worker that serves it will know"
    terminal.say(f'Account "{name}" is {state.value}{who}.')


async def _tell_owner(runtime: Runtime, found: ListedAccount) -> bool:
    """Notify the worker of the account, and wait for it; False if it did not answer in time."""
    from tidegate.workers.command_client import ask_owner

    answer = await ask_owner(runtime.database, found.account.id, "look_again", {}, within=HEARD_WITHIN)
    return answer is not None and answer.state == "done"


@app.command("set")
def set_(
    name: AccountName,
    standing: Annotated[
        Standing | None,
        typer.Option(help="How well the platform knows the account: new (sends slowly), normal or established."),
    ] = None,
    rename: Annotated[str | None, typer.Option(metavar="NEW", help="Give the account another name.")] = None,
    proxy: Proxy = None,
) -> None:
    """Change an account: its standing, its name, its proxy."""
    if standing is None and rename is None and proxy is None:
        raise typer.BadParameter("say what to change: --standing, --rename or --proxy")
    command_runner.run(_set(name, standing, rename, proxy))


async def _set(name: str, standing: Standing | None, rename: str | None, proxy: str | None) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app import operator_requests

    pace = ""
    async with command_runner.runtime() as runtime:
        if rename is not None:  # before a proxy is stored, so that a refused name changes nothing
            async with runtime.database.connection() as connection:
                await accounts.require_new_name(connection, rename)
        if proxy is not None:  # before the rest: it can be refused by others than us
            await _set_proxy(runtime, name, proxy)
        async with runtime.database.transaction() as connection:
            if standing is not None:
                pace = await operator_requests.set_standing(connection, runtime.settings, name, standing)
            if rename is not None:
                await operator_requests.rename(connection, name, rename)
    if standing is not None:
        terminal.say(f'"{name}" is now {standing.value} and sends {pace}.')
    if rename is not None:
        terminal.say(f'Account "{name}" is now called "{rename}". Its channels, reminders and runs stay with it.')


async def _proxy_address(written: str | None) -> ProxyAddress | None:
    """The proxy of an option, which is asked for where it is "-"; None for none."""
    from tidegate.cli.accounts.sign_in_prompts import hidden_answer
    from tidegate.core.rules.outgoing_proxy import parse_proxy

    given = await hidden_answer("Proxy, such as socks5://USER:PASSWORD@HOST:1080") if written == "-" else written
    return None if given is None or given.strip().lower() == "none" else parse_proxy(given.strip())


async def _set_proxy(runtime: Runtime, name: str, written: str) -> None:
    """Check a proxy and use it from now on; a refusal changes nothing."""
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_setup import set_proxy

    async with runtime.database.connection() as connection:
        account = (await accounts.find(connection, name)).account
    address = await _proxy_address(written)
    await set_proxy(runtime, account, address)
    if address is None:
        terminal.say(f'Account "{name}" connects without a proxy now.')
    else:
        terminal.say(f'Account "{name}" connects through {address.shown} now; it was tried and answers.')


@app.command()
def remove(
    name: AccountName,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    keep_session: Annotated[
        bool, typer.Option("--keep-session", help="Do not sign the account out at its platform.")
    ] = False,
) -> None:
    """Sign an account out at its platform and delete it here. Mirrored messages stay."""
    if not yes:
        terminal.confirm(f'Delete account "{name}" and its sign-in?')
    command_runner.run(_remove(name, keep_session=keep_session))


async def _remove(name: str, *, keep_session: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_commands import remove_account

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        terminal.say(await remove_account(runtime, account, keep_session=keep_session))
