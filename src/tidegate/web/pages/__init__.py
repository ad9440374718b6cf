"""The pages, one module each. ``guarded_pages`` includes them all, so that every page requires sign-in."""

from fastapi import Depends

from tidegate.web.auth.page_session import guarded
from tidegate.web.charts import pages as charts
from tidegate.web.pages import (
    channel_messages,
    home,
    live_updates,
    log,
    people,
    reminder_files,
    reminders,
    runs,
    settings,
    target_lists,
)
from tidegate.web.pages.accounts import account_list, account_options, account_sign_in
from tidegate.web.pages.library import archives, channel, channel_topics, channels, search, selected_channels
from tidegate.web.pages.media import channel_files, storage
from tidegate.web.server.request_bodies import Router

guarded_pages = Router(include_in_schema=False, dependencies=[Depends(guarded)])
for one in (
    home,
    charts,
    channels,
    selected_channels,
    channel,
    channel_topics,
    archives,
    search,
    channel_messages,
    channel_files,
    storage,
    people,
    target_lists,
    reminders,
    runs,
    account_list,
    account_sign_in,
    account_options,
    settings,
    log,
    live_updates,
    reminder_files,
):
    guarded_pages.include_router(one.pages)

__all__ = ["guarded_pages"]
