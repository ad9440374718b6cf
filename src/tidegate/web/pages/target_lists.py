"""Saved lists of groups: made, renamed, filled by searching, and removed; every step is a form that needs no script."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.store import accounts, group_list, target_lists
from tidegate.store.group_list import Sought
from tidegate.web.api.access import InDatabase
from tidegate.web.api.asking import BIGGEST, Number, Text
from tidegate.web.rendering import changed, go_to, page

_SHOWN = 200

pages = APIRouter(prefix="/reminders/lists")

ListNumber = Annotated[int, Path(ge=1, le=BIGGEST)]
Named = Annotated[Text, Form()]


class GroupsAsked(BaseModel):
    """Which groups the page of a list shows: those on it, or those to put on it, found by words and by an account."""

    q: Text = ""
    account: Text = ""
    on_it: bool = False

    def of(self, saved_list: int) -> Sought:
        return Sought(saved_list, self.on_it, self.q, self.account)

    def address(self, saved_list: int) -> str:
        asked = {"q": self.q, "account": self.account, "on_it": "true" if self.on_it else ""}
        return f"/reminders/lists/{saved_list}?{urlencode({name: value for name, value in asked.items() if value})}"


class Step(StrEnum):
    """What a press of a button does with groups."""

    CHOSEN = "chosen"
    ALL = "all"


class GroupsChosen(GroupsAsked):
    """The groups that are put on the list, or taken off it: those ticked, or all that the search finds."""

    which: Step = Step.CHOSEN
    group: list[Number] = []


@pages.get("")
async def show(request: Request, database: InDatabase) -> Response:
    """Every list, how many groups it has, and which reminders go to it."""
    async with database.connection() as connection:
        return page(request, "target_lists.html", lists=await target_lists.listing(connection))


@pages.get("/rows")
async def show_rows(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/target_lists.html", lists=await target_lists.listing(connection))


@pages.get("/options")
async def options(request: Request, database: InDatabase, saved_list: Text = "") -> Response:
    """The lists to choose from in a reminder, when one was made or renamed in another window."""
    async with database.connection() as connection:
        lists = await target_lists.listing(connection)
    return page(request, "parts/list_options.html", lists=lists, chosen=saved_list)


@pages.post("")
async def add(request: Request, database: InDatabase, name: Named) -> Response:
    """Make a list and go on to its groups."""
    async with database.transaction() as connection:
        number = await target_lists.add(connection, name)
    return go_to(request, f"/reminders/lists/{number}")


@pages.get("/{number}")
async def edit(
    request: Request, database: InDatabase, number: ListNumber, asked: Annotated[GroupsAsked, Query()]
) -> Response:
    """The list's groups, or those to put on it, as far as a search finds them."""
    async with database.connection() as connection:
        saved = await target_lists.find(connection, number)
        groups, count = await group_list.sought(connection, asked.of(saved.id), most=_SHOWN)
        names = [one.account.name for one in await accounts.listing(connection)]
    return page(request, "target_list.html", saved=saved, asked=asked, groups=groups, count=count, accounts=names)


@pages.post("/{number}/rename")
async def rename(request: Request, database: InDatabase, number: ListNumber, name: Named) -> Response:
    """Another name; reminders that go to the list go on doing so."""
    async with database.transaction() as connection:
        await target_lists.rename(connection, await target_lists.find(connection, number, lock=True), name)
    return go_to(request, f"/reminders/lists/{number}?on_it=true")


@pages.post("/{number}/groups")
async def change(
    request: Request, database: InDatabase, number: ListNumber, wanted: Annotated[GroupsChosen, Form()]
) -> Response:
    """Put groups on the list, or take them off it, and show the same search again."""
    async with database.transaction() as connection:
        saved = await target_lists.find(connection, number, lock=True)
        everything = wanted.which is Step.ALL
        groups = await group_list.all_sought(connection, wanted.of(saved.id)) if everything else wanted.group
        await (target_lists.take if wanted.on_it else target_lists.put)(connection, saved.id, groups)
    return go_to(request, wanted.address(number))


@pages.post("/{number}/remove")
async def remove(request: Request, database: InDatabase, number: ListNumber) -> Response:
    """Forget the list; one that reminders go to stays, and the sentence names them."""
    async with database.transaction() as connection:
        saved = await target_lists.find(connection, number, lock=True)
        await target_lists.remove(connection, saved)
    return changed(request, f'The list "{saved.name}" is forgotten.', back="/reminders/lists")
