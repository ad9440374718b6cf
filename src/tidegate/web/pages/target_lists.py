"""The pages of saved lists: create, rename, fill by search and delete; all forms work without script."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Form, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.accounts.queries import accounts
from tidegate.core.errors import BadInput, NotThere
from tidegate.core.ids import ChannelKey, TargetListId
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Database
from tidegate.reminders.queries import group_choice, target_lists
from tidegate.reminders.queries.group_choice import GroupFilter
from tidegate.reminders.queries.target_lists import SavedList
from tidegate.web.api.parameters import BIGGEST, POSITIVE, Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.page_response import AS_PART, changed, go_to, live_page, page

_SHOWN = 200

pages = GuardedRouter("/reminders/lists")

ListNumber = Annotated[TargetListId, Path(ge=1, le=BIGGEST)]
Named = Annotated[Text, Form()]


class GroupsQuery(BaseModel):
    """Which groups the page shows: members of the list or candidates, filtered by words and account."""

    q: Text = ""
    account: Text = ""
    on_it: bool = False

    def of(self, saved_list: TargetListId) -> GroupFilter:
        return GroupFilter(saved_list, self.on_it, self.q, self.account)

    def address(self, saved_list: TargetListId) -> str:
        asked = {"q": self.q, "account": self.account, "on_it": "true" if self.on_it else ""}
        return f"/reminders/lists/{saved_list}?{urlencode({name: value for name, value in asked.items() if value})}"


class ListChange(StrEnum):
    """Which groups a button changes."""

    CHOSEN = "chosen"
    ALL = "all"


class GroupsChosen(GroupsQuery):
    """The groups to add or remove: those ticked, or all that match."""

    which: ListChange = ListChange.CHOSEN
    group: list[Annotated[ChannelKey, POSITIVE]] = []


async def _saved_lists(database: InDatabase) -> list[SavedList]:
    async with database.connection() as connection:
        return sorted(await target_lists.listing(connection), key=lambda one: natural_key(one.name))


SavedLists = Annotated[list[SavedList], Depends(_saved_lists)]
Filtered = Annotated[GroupsQuery, Query()]
Chosen = Annotated[GroupsChosen, Form()]


@pages.get("")
@pages.get("/rows", dependencies=AS_PART)
async def show(request: Request, lists: SavedLists) -> Response:
    """Every list, how many groups it has, and which reminders go to it."""
    return live_page(request, "target_lists.html", lists=lists, typed="", trouble="")


@pages.get("/options")
async def options(request: Request, lists: SavedLists, saved_list: Text = "") -> Response:
    """The options of the list selector in a reminder, reloaded after a change in another window."""
    return page(request, "parts/list_options.html", lists=lists, chosen=saved_list)


@pages.post("")
async def add(request: Request, database: InDatabase, name: Named) -> Response:
    """Create a list and open its groups; a refused name is asked again."""
    try:
        async with database.transaction() as connection:
            number = await target_lists.add(connection, name)
    except BadInput as problem:
        lists = await _saved_lists(database)
        return page(
            request, "target_lists.html", lists=lists, typed=name, trouble=str(problem), status=HTTPStatus.BAD_REQUEST
        )
    return go_to(request, f"/reminders/lists/{number}", said=f'The list "{name.strip()}" is created. Add groups to it.')


@pages.get("/{number}")
async def edit(request: Request, database: InDatabase, number: ListNumber, asked: Filtered) -> Response:
    """The members of the list, or candidates, that match the filter."""
    return await _edit(request, database, number, asked)


async def _edit(
    request: Request,
    database: Database,
    number: TargetListId,
    asked: GroupsQuery,
    *,
    typed: str = "",
    trouble: str = "",
) -> Response:
    """The page; *trouble* is why the name *typed* was refused."""
    async with database.connection() as connection:
        saved = await target_lists.find(connection, number)
        groups, count = await group_choice.sought(connection, asked.of(saved.id), most=_SHOWN)
        names = sorted((one.account.name for one in await accounts.listing(connection)), key=natural_key)
    return page(
        request, "target_list.html", saved=saved, asked=asked, groups=groups, count=count, accounts=names, typed=typed,
        trouble=trouble, status=HTTPStatus.BAD_REQUEST if trouble else HTTPStatus.OK,
    )  # fmt: skip


@pages.post("/{number}/rename")
async def rename(request: Request, database: InDatabase, number: ListNumber, name: Named) -> Response:
    """Rename a list; its reminders keep using it. A refused name is asked again."""
    try:
        async with database.transaction() as connection:
            await target_lists.rename(connection, await target_lists.find(connection, number, lock=True), name)
    except NotThere:
        raise
    except BadInput as problem:
        return await _edit(request, database, number, GroupsQuery(on_it=True), typed=name, trouble=str(problem))
    return go_to(request, f"/reminders/lists/{number}?on_it=true", said=f'The list is called "{name.strip()}" now.')


@pages.post("/{number}/groups")
async def change(request: Request, database: InDatabase, number: ListNumber, wanted: Chosen) -> Response:
    """Add or remove groups, and show the same filter again."""
    async with database.transaction() as connection:
        saved = await target_lists.find(connection, number, lock=True)
        everything = wanted.which is ListChange.ALL
        groups = await group_choice.all_sought(connection, wanted.of(saved.id)) if everything else wanted.group
        await (target_lists.take if wanted.on_it else target_lists.put)(connection, saved.id, groups)
    what = (
        f"{counted(len(groups), 'group')} {'removed' if wanted.on_it else 'added'}."
        if groups
        else "Select groups first."
    )
    return go_to(request, wanted.address(number), said=what)


@pages.post("/{number}/remove")
async def remove(request: Request, database: InDatabase, number: ListNumber) -> Response:
    """Delete a list; one that reminders use stays, and the error names them."""
    async with database.transaction() as connection:
        saved = await target_lists.find(connection, number, lock=True)
        await target_lists.remove(connection, saved)
    return changed(request, f'The list "{saved.name}" is deleted.', back="/reminders/lists")
