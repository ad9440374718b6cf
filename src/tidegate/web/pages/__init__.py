"""The pages, one module each; ``guarded_pages`` takes them all in, so that none is without its guard."""

from fastapi import APIRouter, Depends

from tidegate.web.guard import guarded
from tidegate.web.pages import (
    accounts,
    activity,
    archives,
    channel,
    channels,
    events,
    messages,
    overview,
    reminders,
    settings,
    target_lists,
    uploads,
)

guarded_pages = APIRouter(include_in_schema=False, dependencies=[Depends(guarded)])
for one in (
    overview,
    channels,
    channel,
    archives,
    messages,
    target_lists,
    reminders,
    activity,
    accounts,
    settings,
    events,
    uploads,
):
    guarded_pages.include_router(one.pages)

__all__ = ["guarded_pages"]
