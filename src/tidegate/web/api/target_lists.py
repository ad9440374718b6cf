"""Saved lists of groups over the API: listed, looked at, made, replaced and removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from tidegate.shapes.target_lists import TargetListShown, TargetListSummary, target_list_shown, target_list_summary
from tidegate.store import accounts, targets
from tidegate.store import target_lists as kept_lists
from tidegate.store.database import Connection
from tidegate.store.target_lists import SavedList
from tidegate.web.api.access import InDatabase, ReaderOfAll, Steerer
from tidegate.web.api.asking import Limit, ListNamed, Text, answer, refusals

target_lists = APIRouter(prefix="/target-lists", tags=["reminders"])


class ListsAsked(BaseModel):
    """Which lists: those after one that *next* named."""

    after: Text = ""
    limit: Limit = 100


@dataclass(frozen=True, slots=True)
class ListsPage:
    """Lists by name; *next* is what to ask *after*, and null on the last page."""

    lists: list[TargetListSummary]
    next: str | None


class ListWanted(BaseModel):
    """A list as it shall be. *groups* are titles or numbers, as the *account* sees them, or any when it is left out."""

    name: Text
    groups: Annotated[list[Text], Field(max_length=10_000)]
    account: Text | None = None


@target_lists.get("", response_model=ListsPage, responses=refusals())
async def listed(database: InDatabase, _: ReaderOfAll, asked: Annotated[ListsAsked, Query()]) -> Response:
    """Saved lists page by page: how many groups each has, and which reminders go to it."""
    async with database.connection() as connection:
        found = await kept_lists.listing(connection, after=asked.after, most=asked.limit + 1)
    shown = [target_list_summary(one) for one in found[: asked.limit]]
    return answer(ListsPage(shown, shown[-1].name if len(found) > asked.limit else None))


@target_lists.get("/{saved_list}", response_model=TargetListShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, _: ReaderOfAll, saved_list: ListNamed) -> Response:
    """One list with its groups."""
    async with database.connection() as connection:
        return answer(await _told(connection, await kept_lists.find(connection, saved_list)))


@target_lists.post(
    "",
    response_model=TargetListShown,
    status_code=HTTPStatus.CREATED,
    responses=refusals(HTTPStatus.NOT_FOUND),
)
async def add(database: InDatabase, _: Steerer, wanted: ListWanted) -> Response:
    """Keep a new list."""
    async with database.transaction() as connection:
        channels = await _channels(connection, wanted)
        number = await kept_lists.add(connection, wanted.name)
        await kept_lists.replace(connection, number, channels)
        told = await _told(connection, await kept_lists.find(connection, number))
    where = {"Location": f"/api/target-lists/{number}"}
    return JSONResponse(asdict(told), status_code=HTTPStatus.CREATED, headers=where)


@target_lists.put("/{saved_list}", response_model=TargetListShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def change(database: InDatabase, _: Steerer, saved_list: ListNamed, wanted: ListWanted) -> Response:
    """Replace a list's groups, and its name; reminders go on going to it, and open runs stay as they were frozen."""
    async with database.transaction() as connection:
        saved = await kept_lists.find(connection, saved_list, lock=True)
        channels = await _channels(connection, wanted)
        await kept_lists.rename(connection, saved, wanted.name)
        await kept_lists.replace(connection, saved.id, channels)
        told = await _told(connection, await kept_lists.find(connection, saved.id))
    return answer(told)


@target_lists.delete(
    "/{saved_list}",
    status_code=HTTPStatus.NO_CONTENT,
    response_class=Response,
    responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
)
async def remove(database: InDatabase, _: Steerer, saved_list: ListNamed) -> Response:
    """Forget a list; one that reminders go to stays, and the sentence names them."""
    async with database.transaction() as connection:
        await kept_lists.remove(connection, await kept_lists.find(connection, saved_list, lock=True))
    return Response(status_code=HTTPStatus.NO_CONTENT)


async def _channels(connection: Connection, wanted: ListWanted) -> Sequence[int]:
    """Our numbers of the groups that are named."""
    account = None if wanted.account is None else (await accounts.find(connection, wanted.account)).account.id
    found = await targets.named(connection, account, wanted.groups)
    return [one.channel for one in found.values() if one.channel is not None]


async def _told(connection: Connection, saved: SavedList) -> TargetListShown:
    return target_list_shown(saved, await kept_lists.members(connection, saved.id))
