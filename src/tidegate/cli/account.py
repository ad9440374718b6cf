"""``tidegate account``: who Tidegate is signed in as, and who serves whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell
from tidegate.cli.signing_in import AtTheTerminal
from tidegate.errors import BadInput, TidegateError
from tidegate.words import Account, AccountState, Platform, Standing

if TYPE_CHECKING:
    from tidegate.app import House
    from tidegate.store.accounts import Listed

app = typer.Typer(help="Signed-in identities, and which worker serves them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The account's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
HEARD_WITHIN = timedelta(seconds=10)
_DEVICES = "Telegram lists it under Settings > Devices, where it can be ended"


@app.command()
def add(
    platform: Annotated[Platform, typer.Argument(help="Where the account is signed in.")],
    name: Name,
    standing: Annotated[
        Standing, typer.Option(help="How well the platform knows it; a young account sends slowly.")
    ] = Standing.NORMAL,
    loopback: Annotated[
        str | None, typer.Option(metavar="CONTROL_URL", help="Use the loopback platform there, not the real one.")
    ] = None,
) -> None:
    """Add an account, signing it in.

    Telegram asks for the phone number, the code it sends, and the password if there is one; Discord for the token of
    a bot. Each is asked for at the terminal, or read as a line of standard input.
    """
    shell.run(_add(platform, name, standing, loopback))


async def _add(platform: Platform, name: str, standing: Standing, loopback: str | None) -> None:
    from tidegate.joining import join, new_account
    from tidegate.loopback.control import ask_control

    if loopback is not None:
        await ask_control(loopback)
    elif platform is Platform.WHATSAPP:
        raise TidegateError(
            f"This release cannot sign in to {platform.value} yet: it serves the loopback platform only. "
            "Try it with: tidegate loopback, then tidegate account add … --loopback CONTROL_URL"
        )
    async with shell.house() as house:
        me = await join(house, new_account(name, platform, standing, loopback), AtTheTerminal())
    if me is not None:
        shell.say(f"Signed in as {me.name}.")
    shell.say(f'Added {platform.value} account "{name}". A worker serves it: tidegate worker, or tidegate serve.')


@app.command("list")
def list_(*, json: Json = False) -> None:
    """List accounts: state, what to do next, who serves them, their pace."""
    shell.run(_list(as_json=json))


async def _list(*, as_json: bool) -> None:
    from tidegate.shapes.accounts import account_rows

    async with shell.house() as house, house.database.connection() as connection:
        rows = [asdict(row) for row in await account_rows(connection)]
    if as_json:
        shell.print_json(rows)
        return
    columns = ["name", "platform", "state", "served_by", "pace", "paused_until", "next_action"]
    shell.print_table(
        [column.replace("_", " ") for column in columns],
        [[row[column] for column in columns] for row in rows],
        empty="No accounts yet; add one with: tidegate account add",
    )


@app.command()
def show(name: Name, *, json: Json = False) -> None:
    """Show one account."""
    shell.run(_show(name, as_json=json))


async def _show(name: str, *, as_json: bool) -> None:
    from tidegate.shapes.accounts import account_row

    async with shell.house() as house, house.database.connection() as connection:
        row = asdict(await account_row(connection, name))
    if as_json:
        shell.print_json(row)
    else:
        shell.print_table(["what", "value"], ((key.replace("_", " "), value) for key, value in row.items()), empty="")


@app.command()
def pause(name: Name) -> None:
    """Make no further call for an account until it is resumed."""
    shell.run(_change(name, AccountState.PAUSED, [AccountState.ACTIVE]))


@app.command()
def resume(name: Name) -> None:
    """Let an account work again, after a pause or a ban that is over."""
    shell.run(_change(name, AccountState.ACTIVE, [AccountState.PAUSED, AccountState.BANNED]))


async def _change(name: str, state: AccountState, expected: Iterable[AccountState]) -> None:
    from tidegate.store import accounts

    async with shell.house() as house:
        async with house.database.transaction() as connection:
            found = await accounts.find(connection, name)
            changed = await accounts.change_state(connection, found.account.id, state, expected=expected)
        if not changed and found.account.state is not state:
            raise BadInput(
                f'Account "{name}" is {found.account.state.value.replace("_", " ")}: {found.account.state.next_action}.'
            )
        heard = await _tell_owner(house, found) if found.served_by else False
    who = f"; {found.served_by} has heard it" if heard else "; whoever serves it next will know"
    shell.say(f'Account "{name}" is {state.value}{who}.')


async def _tell_owner(house: House, found: Listed) -> bool:
    """Have the owner look again, and wait until it has; False when it did not answer in time."""
    from tidegate.engine.asking import ask_owner

    answer = await ask_owner(house.database, found.account.id, "look_again", {}, within=HEARD_WITHIN)
    return answer is not None and answer.state == "done"


@app.command()
def remove(
    name: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    keep_session: Annotated[
        bool, typer.Option("--keep-session", help="Do not sign a Telegram account out at Telegram.")
    ] = False,
) -> None:
    """Sign an account out where its platform has sessions, and forget it. What was mirrored stays."""
    if not yes:
        typer.confirm(f'Forget account "{name}" and its sign-in?', abort=True)
    shell.run(_remove(name, keep_session=keep_session))


async def _remove(name: str, *, keep_session: bool) -> None:
    from tidegate.store import accounts, commands

    async with shell.house() as house:
        async with house.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        how = await _sign_out(house, account, keep_session=keep_session)
        async with house.database.transaction() as connection:
            await accounts.remove(connection, account.id, name)
            await commands.wake(connection)
    shell.say(f'Account "{name}" is removed{how}')


async def _sign_out(house: House, account: Account, *, keep_session: bool) -> str:
    """End the session at Telegram where that can be done; returns the end of the sentence that tells of it."""
    from tidegate.mirroring import sign_out

    if account.platform is not Platform.TELEGRAM:
        return "."
    if keep_session:
        return f", and its session left as it is: {_DEVICES}."
    why = await sign_out(house, account)
    if why is None:
        return " and signed out at Telegram."
    return f", but it could not be signed out: {why} Its session may still be there: {_DEVICES}."
