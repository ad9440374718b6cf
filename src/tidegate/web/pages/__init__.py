"""The pages, one module each. ``guarded_pages`` takes in routers that require sign-in, and no others."""

from tidegate.web.auth.page_session import GuardedRouter
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

guarded_pages = GuardedRouter()
guarded_pages.take_in(
    home.pages,
    charts.pages,
    channels.pages,
    selected_channels.pages,
    channel.pages,
    channel_topics.pages,
    archives.pages,
    search.pages,
    channel_messages.pages,
    channel_files.pages,
    storage.pages,
    people.pages,
    target_lists.pages,
    reminders.pages,
    runs.pages,
    account_list.pages,
    account_sign_in.pages,
    account_options.pages,
    settings.pages,
    log.pages,
    live_updates.pages,
    reminder_files.pages,
)

__all__ = ["guarded_pages"]
