"""``tidegate account``: who Tidegate is signed in as, and who serves whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell
from tidegate.cli.signing_in import AtTheTerminal, standing_of
from tidegate.errors import BadInput, PlatformError
from tidegate.words import Account, AccountState, Platform, Standing

if TYPE_CHECKING:
    from tidegate.app import House
    from tidegate.store.accounts import Listed

app = typer.Typer(help="Signed-in identities, and which worker serves them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The account's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
HEARD_WITHIN = timedelta(seconds=10)
_DEVICES = {
    Platform.TELEGRAM: "Telegram lists it under Settings > Devices, where it can be ended",
    Platform.WHATSAPP: "WhatsApp lists it on the phone under Linked devices, where it can be ended",
}


@app.command()
def add(
    platform: Annotated[Platform, typer.Argument(help="Where the account is signed in.")],
    name: Name,
    standing: Annotated[
        Standing | None,
        typer.Option(help="How well the platform knows it; a young account sends slowly. Normal when nothing is said."),
    ] = None,
    phone: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="WhatsApp: show a code to type into this phone, not a QR code.")
    ] = None,
    loopback: Annotated[
        str | None, typer.Option(metavar="CONTROL_URL", help="Use the loopback platform there, not the real one.")
    ] = None,
) -> None:
    """Add an account, signing it in.

    Telegram asks for the phone number, the code it sends, and the password if there is one; Discord for the token of
    a bot. Each is asked for at the terminal, or read as a line of standard input. WhatsApp shows a QR code to scan with
    the phone (Linked devices, Link a device), or with --phone a code to type there, and asks for the standing.
    """
    shell.run(_add(platform, name, standing, phone, loopback))


async def _add(
    platform: Platform, name: str, standing: Standing | None, phone: str | None, loopback: str | None
) -> None:
    from tidegate.joining import join, new_account
    from tidegate.platforms import control
    from tidegate.store import accounts

    if phone is not None and platform is not Platform.WHATSAPP:
        raise BadInput("--phone is for WhatsApp, whose codes are typed into a phone.")
    if loopback is not None:
        try:
            await control.get(loopback, "/")
        except PlatformError as problem:
            raise BadInput(str(problem)) from problem
    async with shell.house() as house:
        async with house.database.connection() as connection:
            await accounts.require_free(connection, name)
        known = standing or await standing_of(platform)
        me = await join(house, new_account(name, platform, known, loopback), AtTheTerminal(phone))
    shell.say(f"Signed in as {me.name}.")
    shell.say(f'Added {platform.value} account "{name}". A worker serves it: tidegate worker, or tidegate serve.')


@app.command("sign-in")
def sign_in(
    name: Name,
    phone: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="WhatsApp: show a code to type into this phone, not a QR code.")
    ] = None,
) -> None:
    """Sign an account in again that its platform signed out. Its channels, reminders and runs stay as they are."""
    shell.run(_sign_in(name, phone))


async def _sign_in(name: str, phone: str | None) -> None:
    from tidegate.joining import rejoin
    from tidegate.store import accounts

    async with shell.house() as house:
        async with house.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        me = await rejoin(house, account, AtTheTerminal(phone))
    shell.say(f'Account "{name}" is signed in again, as {me.name}.')


@app.command("list")
def list_(*, json: Json = False) -> None:
    """List accounts: state, what to do next, who serves them, their pace, and why one was stopped."""
    shell.run(_list(as_json=json))


async def _list(*, as_json: bool) -> None:
    from tidegate.shapes.accounts import account_rows

    async with shell.house() as house, house.database.connection() as connection:
        rows = [asdict(row) for row in await account_rows(connection)]
    if as_json:
        shell.print_json(rows)
        return
    columns = ["name", "platform", "state", "served_by", "pace", "paused_until", "next_action"]
    columns += ["why"] if any(row["why"] for row in rows) else []
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
            raise BadInput(found.account.stands)
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
        bool, typer.Option("--keep-session", help="Do not sign the account out at Telegram or WhatsApp.")
    ] = False,
) -> None:
    """Sign an account out where its platform has sessions, and forget it. What was mirrored stays."""
    if not yes:
        typer.confirm(f'Forget account "{name}" and its sign-in?', abort=True)
    shell.run(_remove(name, keep_session=keep_session))


async def _remove(name: str, *, keep_session: bool) -> None:
    from tidegate.openings import forget_device
    from tidegate.store import accounts, commands

    async with shell.house() as house:
        async with house.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        how = await _sign_out(house, account, keep_session=keep_session)
        await forget_device(house, account)
        async with house.database.transaction() as connection:
            await accounts.remove(connection, account.id, name)
            await commands.wake(connection)
    shell.say(f'Account "{name}" is removed{how}')


async def _sign_out(house: House, account: Account, *, keep_session: bool) -> str:
    """End the session at the platform where that can be done; returns the end of the sentence that tells of it."""
    from tidegate.mirroring import sign_out

    if account.platform not in _DEVICES:
        return "."
    listed = _DEVICES[account.platform]
    if keep_session:
        return f", and its session left as it is: {listed}."
    why = await sign_out(house, account)
    if why is None:
        return f" and signed out at {listed.partition(' ')[0]}."
    return f", but it could not be signed out: {why} Its session may still be there: {listed}."
