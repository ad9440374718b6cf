"""What every page of a channel begins with: its place, whether its copy is up to date, and its tabs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import HTTPException, Path

from tidegate.app.doctor.status_report import problem_limits
from tidegate.app.policies import policy_of
from tidegate.app.setting_sources import LoadedSettings
from tidegate.channels.queries import channel_list, channels, mirror_states
from tidegate.channels.queries.channel_list import ChannelWithMemory
from tidegate.channels.queries.channels import KnownChannel
from tidegate.channels.rules.channel_names import full_name
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection, Database
from tidegate.history.channel_documents import ChannelListed, channels_listed
from tidegate.history.queries import timeline
from tidegate.web.api.parameters import BIGGEST
from tidegate.web.rules.channel_labels import mirror_state_words

Key = Annotated[ChannelKey, Path(ge=1, le=BIGGEST)]


@dataclass(frozen=True, slots=True)
class ChannelHead:
    """A channel with its memory, the state of its copy in *words*, and the time of its newest message.

    *mood* is that of the words. *tabs* are names and addresses.
    """

    kept: KnownChannel
    line: ChannelWithMemory
    row: ChannelListed
    words: str
    mood: str
    newest_at: datetime | None
    tabs: tuple[tuple[str, str], ...]

    def tab_links(self, url: Callable[[str], str]) -> list[tuple[str, str, None]]:
        """The tabs with their addresses on this site."""
        return [(name, url(path), None) for name, path in self.tabs]

    @property
    def question(self) -> str:
        """What is asked before the channel is not mirrored any more."""
        return f'Stop mirroring "{call_it(self.kept)}"? What is stored stays.'


@asynccontextmanager
async def opened_channel(
    database: Database, loaded: LoadedSettings, key: ChannelKey
) -> AsyncIterator[tuple[Connection, KnownChannel, ChannelHead]]:
    """A connection for a page of a channel, the channel, or 404, and its head."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        yield connection, kept, await _channel_head(connection, loaded, kept)


async def _channel_head(connection: Connection, loaded: LoadedSettings, kept: KnownChannel) -> ChannelHead:
    """The head of a channel's pages."""
    line = await channel_list.line(connection, kept)
    policy = policy_of(loaded.settings)
    [row] = await channels_listed(connection, [line], policy.scans, policy.retries)
    within = problem_limits(loaded.settings).checked_within
    words, mood = mirror_state_words(
        enabled=kept.enabled,
        state=row.state,
        checked=line.memory is not None and line.memory["last_scanned_at"] is not None,
        behind=kept.reader in await mirror_states.accounts_behind(connection, within),
    )
    return ChannelHead(kept, line, row, words, mood, await timeline.newest_at(connection, kept.key), _tabs(kept))


def _tabs(kept: KnownChannel) -> tuple[tuple[str, str], ...]:
    """The pages of a channel that it can have something on, in their order."""
    at = f"/channels/{kept.key}"
    has_threads = kept.platform.has_guilds and kept.kind != "thread"
    found = (
        ("Messages", "messages", kept.platform.can_be_mirrored and kept.kind != "board"),
        ("Threads" if has_threads else "Topics", "topics", kept.forum or has_threads),
        ("Files", "files", kept.platform.can_be_mirrored and kept.kind != "board"),
        ("Archives", "archives", kept.platform.has_archives),
        ("Activity", "statistics", kept.platform.can_be_mirrored and kept.kind != "board"),
        ("Options", "options", True),
        ("Technical", "technical", kept.platform.can_be_mirrored),
    )
    return tuple((name, f"{at}/{path}") for name, path, shown in found if shown)


def first_tab(kept: KnownChannel) -> str:
    """The path of the page that opens with a channel."""
    names = dict(_tabs(kept))
    if "Messages" not in names:
        return names.get("Threads", names["Options"])
    return names["Messages"] if kept.enabled or kept.in_full else names["Options"]


def call_it(kept: KnownChannel) -> str:
    """A channel by its full name, as a sentence names it."""
    return full_name(kept.title[:100] or str(kept.number), kept)


async def kept_channel(connection: Connection, key: ChannelKey) -> KnownChannel:
    """The channel of that key, or 404."""
    known = await channels.of_keys(connection, [key])
    if key not in known:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no channel {key} here; it may have been deleted.")
    return known[key]
