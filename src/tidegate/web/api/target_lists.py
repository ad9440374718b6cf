"""Saved lists of groups over the API: list, show, create, replace and delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.accounts.queries import accounts
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection
from tidegate.reminders.queries import target_lists as kept_lists
from tidegate.reminders.queries import targets
from tidegate.reminders.queries.target_lists import SavedList
from tidegate.reminders.target_list_documents import (
    TargetListShown,
    TargetListSummary,
    target_list_shown,
    target_list_summary,
)
from tidegate.web.api.parameters import Limit, ListNamed, Rows, RowsQuery, Text, Texts
from tidegate.web.api.responses import CHANGE_REFUSALS, NO_CONTENT, answer, refusals
from tidegate.web.auth.token_check import InDatabase, ReaderOfAll, Steerer
from tidegate.web.server.request_bodies import ApiRouter

target_lists = ApiRouter("/target-lists", tags=["reminders"])


class ListsQuery(BaseModel):
    """Which lists: those after one that *next* named."""

    after: Text = ""
    limit: Limit = 100


@dataclass(frozen=True, slots=True)
class ListsPage:
    """Lists by name; *next* is what to ask *after*, and null on the last page."""

    lists: list[TargetListSummary]
    next: str | None


class ListWanted(BaseModel):
    """A list to save. *groups* are titles or numbers, as the *account* sees them, or any account if it is missing."""

    name: Text
    groups: Texts
    account: Text | None = None


@target_lists.get("", response_model=ListsPage, responses=refusals())
async def listed(database: InDatabase, _: ReaderOfAll, asked: Annotated[ListsQuery, Query()]) -> Response:
    """Saved lists page by page: how many groups each has, and which reminders go to it."""
    async with database.connection() as connection:
        found = await kept_lists.listing(connection, after=asked.after, most=asked.limit + 1)
    shown = [target_list_summary(one) for one in found[: asked.limit]]
    return answer(ListsPage(shown, shown[-1].name if len(found) > asked.limit else None))


@target_lists.get("/{saved_list}", response_model=TargetListShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, _: ReaderOfAll, saved_list: ListNamed, asked: Rows) -> Response:
    """One list with its groups."""
    async with database.connection() as connection:
        return answer(await _document(connection, await kept_lists.find(connection, saved_list), asked))


@target_lists.post(
    "", response_model=TargetListShown, status_code=HTTPStatus.CREATED, responses=refusals(HTTPStatus.NOT_FOUND)
)
async def add(database: InDatabase, _: Steerer, wanted: ListWanted) -> Response:
    """Create a list."""
    async with database.transaction() as connection:
        channels = await _channels(connection, wanted)
        number = await kept_lists.add(connection, wanted.name)
        await kept_lists.replace(connection, number, channels)
        document = await _document(connection, await kept_lists.find(connection, number))
    where = {"Location": f"/api/target-lists/{number}"}
    return answer(document, HTTPStatus.CREATED, where)


@target_lists.put("/{saved_list}", response_model=TargetListShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def change(database: InDatabase, _: Steerer, saved_list: ListNamed, wanted: ListWanted) -> Response:
    """Replace a list's groups and name; its reminders keep using it, and open runs keep their frozen content."""
    async with database.transaction() as connection:
        saved = await kept_lists.find(connection, saved_list, lock=True)
        channels = await _channels(connection, wanted)
        await kept_lists.rename(connection, saved, wanted.name)
        await kept_lists.replace(connection, saved.id, channels)
        document = await _document(connection, await kept_lists.find(connection, saved.id))
    return answer(document)


@target_lists.delete("/{saved_list}", **NO_CONTENT, responses=CHANGE_REFUSALS)
async def remove(database: InDatabase, _: Steerer, saved_list: ListNamed) -> Response:
    """Delete a list; one that reminders use stays, and the error names them."""
    async with database.transaction() as connection:
        await kept_lists.remove(connection, await kept_lists.find(connection, saved_list, lock=True))
    return Response(status_code=HTTPStatus.NO_CONTENT)


async def _channels(connection: Connection, wanted: ListWanted) -> Sequence[ChannelKey]:
    """The channel keys of the named groups."""
    account = None if wanted.account is None else (await accounts.find(connection, wanted.account)).account.id
    found = await targets.named(connection, account, wanted.groups)
    return [one.channel for one in found.values() if one.channel is not None]


async def _document(connection: Connection, saved: SavedList, asked: RowsQuery | None = None) -> TargetListShown:
    asked = asked or RowsQuery()
    members = await kept_lists.members(connection, saved.id, skip=asked.skip, most=asked.limit)
    return target_list_shown(saved, members, skipped=asked.skip)
