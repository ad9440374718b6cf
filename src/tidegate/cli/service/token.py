"""``tidegate token``: tokens of the HTTP API."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import readable_time

if TYPE_CHECKING:
    from tidegate.access.queries.tokens import TokenScope

app = typer.Typer(help="Tokens for the HTTP API.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The token's name.")]


@app.command()
def add(
    name: Name,
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="What the token allows: read, steer or admin. May be repeated."),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(metavar="CHANNEL", help="Limit the token to this channel (title or number). May be repeated."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="When the token expires: a duration such as 30d, or a date such as 2027-12-31."
        ),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Create a token and print it once. Only its hash is stored."""
    command_runner.run(_add(name, scope or ["read"], channel, expires, as_json=json))


async def _add(name: str, scopes: list[str], named: list[str] | None, expires: str | None, *, as_json: bool) -> None:
    from tidegate.access.documents import NewToken
    from tidegate.access.queries import tokens
    from tidegate.app.operator_requests import token_end
    from tidegate.channels.queries import channels
    from tidegate.core.json_fields import instant

    wanted = [_scope(scope) for scope in dict.fromkeys(scopes)]
    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        keys = None if not named else [(await channels.find(connection, one)).key for one in named]
        end = await token_end(connection, expires, lambda moment: moment.astimezone())
        secret = await tokens.add(connection, name, wanted, keys, expires_at=end)
    if as_json:
        new = NewToken(name=name, scopes=[scope.value for scope in wanted], expires_at=instant(end), token=secret)
        terminal.print_json(asdict(new))
        return
    terminal.print_line(secret)
    until = "" if end is None else f" It expires on {readable_time(end)}."
    terminal.say(f'This is token "{name}". It is shown this once; send it as: Authorization: Bearer TOKEN.{until}')


def _scope(written: str) -> TokenScope:
    from tidegate.access.queries.tokens import TokenScope

    try:
        return TokenScope(written)
    except ValueError:
        raise BadInput(f"There is no scope {written}; a token can have: {', '.join(TokenScope)}.") from None


@app.command("list")
def list_(*, json: Json = False) -> None:
    """List tokens: scopes, state, and when each was last used."""
    command_runner.run(_list(as_json=json))


async def _list(*, as_json: bool) -> None:
    from tidegate.access.documents import token_row
    from tidegate.access.queries import tokens

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        found = await tokens.listing(connection)
    if as_json:
        terminal.print_json([asdict(token_row(one)) for one in found])
        return
    rows = [
        (
            one.name,
            ", ".join(sorted(one.scopes)),
            "all" if one.channels is None else ", ".join(one.titles),
            one.state.words,
            readable_time(one.made_at),
            readable_time(one.used_at) if one.used_at else "never",
            readable_time(one.expires_at) if one.expires_at else "never",
        )
        for one in sorted(found, key=lambda one: natural_key(one.name))
    ]
    terminal.print_table(
        ["name", "scopes", "channels", "state", "created", "used", "expires"],
        rows,
        empty="No tokens yet: tidegate token add",
        important="name",
    )


@app.command()
def confirm(
    name: Annotated[str | None, typer.Argument(help="The token's name.")] = None,
    *,
    all_: Annotated[bool, typer.Option("--all", help="Confirm every token that needs it.")] = False,
    json: Json = False,
) -> None:
    """Confirm a token that was restored from a backup. It may have been revoked since."""
    if (name is None) != all_:
        raise typer.BadParameter("Name one token, or give --all.")
    command_runner.run(_confirm(name, as_json=json))


async def _confirm(name: str | None, *, as_json: bool) -> None:
    from tidegate.access.queries import tokens

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        confirmed = await tokens.confirm(connection, name)
    if as_json:
        terminal.print_json({"confirmed": confirmed})
        return
    for one in confirmed:
        terminal.say(f'Token "{one}" is confirmed.')


@app.command()
def revoke(name: Name) -> None:
    """Revoke a token. It stops working at once."""
    command_runner.run(_revoke(name))


async def _revoke(name: str) -> None:
    from tidegate.access.queries import tokens

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        await tokens.revoke(connection, name)
    terminal.say(f'Token "{name}" is revoked.')
