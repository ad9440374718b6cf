"""``tidegate reminder targets``: saved lists of groups."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput


def targets(
    name: Annotated[str | None, typer.Argument(metavar="LIST", help="The list's name.")] = None,
    account: Annotated[str | None, typer.Option(help="The account that sees the groups.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="GROUP", help="A group's title or number; may be repeated.")
    ] = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the list.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show saved lists of groups, keep one under a name, or forget it."""
    shell.run(lambda: _targets(name, account, group or [], remove=remove, as_json=json))


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
    from tidegate.store import accounts, target_lists, targets

    async with shell.house() as house, house.database.transaction() as connection:
        whose = (await accounts.find(connection, account)).account
        found = await targets.named(connection, whose.id, groups)
        await target_lists.save(connection, name, [one.channel for one in found.values() if one.channel])
    print(f'The list "{name}" has {len(found)} groups.')


async def _remove(name: str) -> None:
    from tidegate.store import target_lists

    async with shell.house() as house, house.database.transaction() as connection:
        await target_lists.remove(connection, await target_lists.find(connection, name, lock=True))
    print(f'The list "{name}" is forgotten.')


async def _show(name: str | None, *, as_json: bool) -> None:
    from tidegate.shapes.target_lists import target_list_row
    from tidegate.store import target_lists

    async with shell.house() as house, house.database.connection() as connection:
        one = None if name is None else await target_lists.find(connection, name)
        lists = await target_lists.listing(connection) if one is None else [one]
        found = [target_list_row(saved, await target_lists.members(connection, saved.id)) for saved in lists]
    if as_json:
        shell.print_json([asdict(one) for one in found])
        return
    shell.print_table(
        ["list", "groups"],
        ([one.name, ", ".join(one.groups)] for one in found),
        empty="There is no saved list. Keep one: tidegate reminder targets LIST --account NAME --group GROUP …",
    )
