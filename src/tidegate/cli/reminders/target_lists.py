"""``tidegate reminder targets``: saved lists of groups."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tidegate.cli import command_runner
from tidegate.core import terminal
from tidegate.core.errors import BadInput
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted


def targets(
    name: Annotated[str | None, typer.Argument(metavar="LIST", help="The list's name.")] = None,
    account: Annotated[str | None, typer.Option(metavar="NAME", help="The account that sees the groups.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="GROUP", help="A group's title or number. May be repeated.")
    ] = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the list.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show, create or delete saved lists of groups."""
    command_runner.run(lambda: _targets(name, account, group or [], remove=remove, as_json=json))


async def _targets(name: str | None, account: str | None, groups: list[str], *, remove: bool, as_json: bool) -> None:
    if name is None and (groups or remove):
        raise BadInput("Give the list's name: tidegate reminder targets LIST --account NAME --group GROUP …")
    if groups and account is None:
        raise BadInput("Say with --account which account sees the groups.")
    if name is not None and groups and account is not None:
        await _save(name, account, groups)
    elif name is not None and remove:
        await _remove(name)
    else:
        await _show(name, as_json=as_json)


async def _save(name: str, account: str, groups: list[str]) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.reminders.queries import target_lists, targets

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        whose = (await accounts.find(connection, account)).account
        found = await targets.named(connection, whose.id, groups)
        await target_lists.save(connection, name, [one.channel for one in found.values() if one.channel])
    terminal.print_line(f'The list "{name}" has {counted(len(found), "group")}.')


async def _remove(name: str) -> None:
    from tidegate.reminders.queries import target_lists

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        await target_lists.remove(connection, await target_lists.find(connection, name, lock=True))
    terminal.print_line(f'The list "{name}" is deleted.')


async def _show(name: str | None, *, as_json: bool) -> None:
    from tidegate.reminders.queries import target_lists
    from tidegate.reminders.target_list_documents import target_list_row

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        one = None if name is None else await target_lists.find(connection, name)
        lists = await target_lists.listing(connection) if one is None else [one]
        found = [target_list_row(saved, await target_lists.members(connection, saved.id)) for saved in lists]
    if as_json:
        terminal.print_json([asdict(one) for one in found])
        return
    terminal.print_table(
        ["list", "groups"],
        (
            [one.name, sorted(one.groups, key=natural_key)]
            for one in sorted(found, key=lambda one: natural_key(one.name))
        ),
        empty="No saved lists. Create one: tidegate reminder targets LIST --account NAME --group GROUP …",
    )
