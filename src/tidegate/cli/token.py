"""``tidegate token``: what bots and scripts show the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput

if TYPE_CHECKING:
    from tidegate.store.tokens import TokenScope

app = typer.Typer(help="Tokens for the HTTP API.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The token's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def add(
    name: Name,
    scope: Annotated[
        list[str] | None, typer.Option(help="What it is good for: read, steer or admin; can be repeated.")
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(help="The only channel it may read: title or number; can be repeated.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Make a token and print it, this once: only its hash is kept."""
    shell.run(_add(name, scope or ["read"], channel, as_json=json))


async def _add(name: str, scopes: list[str], named: list[str] | None, *, as_json: bool) -> None:
    from tidegate.store import channels, tokens

    wanted = [_scope(scope) for scope in dict.fromkeys(scopes)]
    async with shell.house() as house, house.database.transaction() as connection:
        keys = None if not named else [(await channels.find(connection, one)).key for one in named]
        secret = await tokens.add(connection, name, wanted, keys)
    if as_json:
        shell.print_json({"name": name, "scopes": [scope.value for scope in wanted], "token": secret})
        return
    print(secret)
    shell.say(f'This is token "{name}". It is shown this once; send it as: Authorization: Bearer TOKEN')


def _scope(written: str) -> TokenScope:
    from tidegate.store.tokens import TokenScope

    try:
        return TokenScope(written)
    except ValueError:
        raise BadInput(f"There is no scope {written}; a token can have: {', '.join(TokenScope)}.") from None


@app.command("list")
def list_(*, json: Json = False) -> None:
    """List tokens: what they are good for, and when they were last used."""
    shell.run(_list(as_json=json))


async def _list(*, as_json: bool) -> None:
    from tidegate.store import tokens

    async with shell.house() as house, house.database.connection() as connection:
        found = await tokens.listing(connection)
    if as_json:
        shell.print_json([one.as_json() for one in found])
        return
    rows = [
        (
            one.name,
            ", ".join(sorted(one.scopes)),
            "all" if one.channels is None else ", ".join(one.titles),
            f"{one.made_at.astimezone():%Y-%m-%d %H:%M %Z}",
            f"{one.used_at.astimezone():%Y-%m-%d %H:%M %Z}" if one.used_at else "never",
        )
        for one in found
    ]
    shell.print_table(
        ["name", "scopes", "channels", "made", "used"], rows, empty="There is no token: tidegate token add"
    )


@app.command()
def revoke(name: Name) -> None:
    """Revoke a token: it opens nothing from now on."""
    shell.run(_revoke(name))


async def _revoke(name: str) -> None:
    from tidegate.store import tokens

    async with shell.house() as house, house.database.transaction() as connection:
        await tokens.revoke(connection, name)
    shell.say(f'Token "{name}" is revoked.')
