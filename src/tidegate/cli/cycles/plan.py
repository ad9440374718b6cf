"""``tidegate plan``: what the next cycle would do, without any call."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput


def plan(
    account: Annotated[str | None, typer.Argument(help="The account's name. The default is all accounts.")] = None,
    *,
    json: Json = False,
) -> None:
    """Show what the next cycle would do and how many calls it would use. Makes no call."""
    command_runner.run(_plan(account, as_json=json))


async def _plan(name: str | None, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.platform_registry import platforms
    from tidegate.app.policies import policy_of
    from tidegate.cycles.forecast import foresee

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        policy = policy_of(runtime.settings)
        listed = await accounts.listing(connection) if name is None else [await accounts.find(connection, name)]
        found = [one.account for one in listed if one.account.platform.can_be_mirrored]
        if name is not None and not found:
            brands = " and ".join(one.brand for one in platforms() if one.can_be_mirrored)
            raise BadInput(f'Nothing is mirrored by "{name}"; only {brands} accounts have cycles.')
        plans = [(await foresee(connection, one, policy)).as_json() for one in found]
    if as_json:
        terminal.print_json(plans if name is None else plans[0])
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
    terminal.print_table(
        ["account", "calls", "verdicts"], rows, empty="No account can be mirrored: tidegate account add"
    )
