"""``tidegate plan``: what the next cycle would do, spending nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def plan(
    account: Annotated[str | None, typer.Argument(help="The account's name; without it, all accounts.")] = None,
    *,
    json: Json = False,
) -> None:
    """Say what the next cycle would do and how many calls it would spend, spending none."""
    shell.run(_plan(account, as_json=json))


async def _plan(name: str | None, *, as_json: bool) -> None:
    from tidegate.habits import habits_of
    from tidegate.mirror.foreseeing import foresee
    from tidegate.store import accounts
    from tidegate.words import Platform

    async with shell.house() as house, house.database.connection() as connection:
        habits = habits_of(house.settings)
        listed = await accounts.listing(connection) if name is None else [await accounts.find(connection, name)]
        found = [one.account for one in listed if one.account.platform in (Platform.TELEGRAM, Platform.DISCORD)]
        if name is not None and not found:
            raise BadInput(f'Nothing is mirrored by "{name}"; only Telegram and Discord accounts have cycles.')
        plans = [(await foresee(connection, one, habits)).as_json() for one in found]
    if as_json:
        shell.print_json(plans if name is None else plans[0])
        return
    rows = [
        (
            one["account"],
            f"{one['calls_at_least']} to {one['calls_at_most']}",
            ", ".join(f"{count} {verdict}" for verdict, count in one["verdicts"].items())
            or "nothing to mirror is known yet",
        )
        for one in plans
    ]
    shell.print_table(["account", "calls", "verdicts"], rows, empty="No account can be mirrored: tidegate account add")
