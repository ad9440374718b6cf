"""``tidegate plan``: what the next cycle would do, without any call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import readable_time

if TYPE_CHECKING:
    from datetime import datetime

    from tidegate.app.settings import Settings
    from tidegate.core.account import Account


def plan(
    account: Annotated[str | None, typer.Argument(help="The account's name. The default is all accounts.")] = None,
    *,
    json: Json = False,
) -> None:
    """Show when the next cycle is, what it would do, and its calls. Makes no call."""
    command_runner.run(_plan(account, as_json=json))


async def _plan(name: str | None, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.platform_registry import platforms
    from tidegate.app.policies import policy_of
    from tidegate.cycles.cycle_forecast import foresee
    from tidegate.scans.queries.due_work import next_cycles
    from tidegate.web.rules.channel_labels import checks_counted

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        policy = policy_of(runtime.settings)
        listed = await accounts.listing(connection) if name is None else [await accounts.find(connection, name)]
        served = {one.account.id for one in listed if one.served_by}
        found = [one.account for one in listed if one.account.platform.can_be_mirrored]
        if name is not None and not found:
            brands = " and ".join(one.brand for one in platforms() if one.can_be_mirrored)
            raise BadInput(f'Nothing is mirrored by "{name}"; only {brands} accounts have cycles.')
        plans = [(await foresee(connection, one, policy)).as_json() for one in found]
        expected = await next_cycles(connection, [one.id for one in found])
    if as_json:
        terminal.print_json(plans if name is None else plans[0])
        return
    terminal.say("The next cycle of each account, as far as is known now:")
    rows = [
        (
            account.name,
            _when(account, expected.get(account.id), runtime.settings, served=account.id in served),
            f"{one['calls_at_least']} to {one['calls_at_most']}",
            checks_counted(one["verdicts"]) or "nothing to mirror is known yet",
        )
        for account, one in sorted(zip(found, plans, strict=True), key=lambda pair: natural_key(pair[0].name))
    ]
    terminal.print_table(
        ["account", "next cycle", "calls", "verdicts"],
        rows,
        empty="No account can be mirrored: tidegate account add",
        important="account",
    )


def _when(account: Account, at: datetime | None, settings: Settings, *, served: bool) -> str:
    """When the next cycle is; the time of one that push updates delay is not stored, only how late it can be."""
    from tidegate.core.durations import span_text

    if at is not None:
        return readable_time(at)
    return (
        f"within {span_text(settings.guild_cycle_every_live(account.platform))}" if served else "when a worker starts"
    )
