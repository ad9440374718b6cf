"""The pages, one module each. ``guarded_pages`` includes them all, so that every page requires sign-in."""

from fastapi import Depends

from tidegate.web.auth.page_session import guarded
from tidegate.web.pages import (
    accounts,
    archives,
    channel,
    channel_messages,
    channels,
    live_updates,
    overview,
    people,
    reminder_files,
    reminders,
    runs,
    search,
    settings,
    target_lists,
)
from tidegate.web.pages.media import channel_files, storage
from tidegate.web.server.request_bodies import Router

guarded_pages = Router(include_in_schema=False, dependencies=[Depends(guarded)])
for one in (
    overview,
    channels,
    channel,
    archives,
    search,
    channel_messages,
    channel_files,
    storage,
    people,
    target_lists,
    reminders,
    runs,
    accounts,
    settings,
    live_updates,
    reminder_files,
):
    guarded_pages.include_router(one.pages)

__all__ = ["guarded_pages"]
