"""The pages of one channel: its options, what is known of it in technical terms, and the actions on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from tidegate.app import operator_requests
from tidegate.app.operator_requests import BackfillRequest, MirrorRequest
from tidegate.archives.queries import archive_sets
from tidegate.channels.queries import channel_list, channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import TopicId
from tidegate.cycles.documents import CyclesPage, cycles_page
from tidegate.database.pool import Connection
from tidegate.history.queries import coverage, messages, partial_share, verification
from tidegate.history.rules.coverage_bar import CoverageBar
from tidegate.web.api.parameters import Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.charts.activity_charts import channel_activity, zone_from
from tidegate.web.page_response import changed, page
from tidegate.web.pages.library.channel_head import ChannelHead, Key, call_it, first_tab, kept_channel, opened_channel
from tidegate.web.pages.library.channels import drawn
from tidegate.web.refused_field import RefusedField, of_field
from tidegate.web.server.streamed_responses import in_thread
from tidegate.web.site_address import site_of

_TOPICS = 500
_HISTORY = 20
_COUNTED = 100_000
_DESTINATIONS = 500

pages = GuardedRouter("/channels/{key}")


@pages.get("")
async def open_channel(request: Request, database: InDatabase, key: Key) -> Response:
    """Lead to the tab that a channel opens with."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
    return RedirectResponse(site_of(request).path(first_tab(kept)), status_code=302)


@dataclass(frozen=True, slots=True)
class StoredShare:
    """How much of a channel is stored: the *picture* of its history, and messages that lack fields in words."""

    head: int
    picture: CoverageBar | None
    partial: str


async def _stored_share(connection: Connection, shown: ChannelHead) -> StoredShare:
    kept, memory = shown.kept, shown.line.memory
    covered = await coverage.load(connection, kept.key)
    head = memory["newest_seen"] if memory else 0
    share = await partial_share.share_of(connection, kept.key)
    picture = await in_thread(lambda: drawn(kept, covered, head))
    return StoredShare(head, None if picture is None else replace(picture, partial=share.partial > 0), share.words)


@pages.get("/options")
async def options(request: Request, database: InDatabase, loaded: AsSet, key: Key) -> Response:
    """What the channel is, how it is mirrored, and how many older messages are loaded."""
    async with opened_channel(database, loaded, key) as (connection, kept, head):
        stored = await _stored_share(connection, head)
        topics = await channel_list.topics_by_title(connection, key, most=_TOPICS) if kept.forum else []
        destination = await channels.of_keys(connection, [kept.destination]) if kept.destination else {}
        able = kept.platform.has_archives and not kept.is_private_chat
        choices = await channel_list.destinations(connection, kept, most=_DESTINATIONS) if able else []
        return page(
            request, "channel_options.html", head=head, kept=kept, key=key, row=head.row, stored=stored,
            messages=await messages.count(connection, key, most=_COUNTED), counted=_COUNTED,
            archives=await archive_sets.count(connection, key),
            topics=[one for one in topics if one["gone_at"] is None or one["selected"]], has_archives=able,
            destination=destination.get(kept.destination) if kept.destination else None, destinations=choices,
        )  # fmt: skip


@pages.get("/statistics")
async def statistics(request: Request, database: InDatabase, loaded: AsSet, key: Key) -> Response:
    """When people write there, as charts."""
    async with opened_channel(database, loaded, key) as (connection, kept, head):
        return page(
            request, "channel_statistics.html", head=head, kept=kept, key=key, zone=str(zone_from(request)),
            activity=await channel_activity(connection, key, zone_from(request)),
        )  # fmt: skip


@pages.get("/technical")
async def technical(request: Request, database: InDatabase, loaded: AsSet, key: Key) -> Response:
    """Watermark, gaps by number, recent reads, and what its account's recent checks spent."""
    async with opened_channel(database, loaded, key) as (connection, kept, head):
        return page(
            request, "channel_technical.html", head=head, kept=kept, key=key, row=head.row,
            stored=await _stored_share(connection, head),
            verified=await verification.load(connection, key) if kept.in_full else None,
            readings=await channel_list.readings(connection, kept, most=_HISTORY),
            cycles=await _cycles(connection, kept),
        )  # fmt: skip


async def _cycles(connection: Connection, kept: KnownChannel) -> CyclesPage:
    """The latest checks of the account that reads the channel."""
    if kept.reader_name is None:
        return CyclesPage(cycles=[], next=None)
    reader = await operator_requests.reader_of(connection, kept)
    return await cycles_page(connection, reader, before=None, most=_HISTORY)


class MirroringForm(BaseModel):
    """The mirroring options of the form. Without *only* topics, the whole channel is mirrored."""

    full: bool = False
    hashed: bool = False
    which: Literal["", "all", "some"] = ""
    topic: Annotated[list[TopicId], Field(max_length=10_000)] = []
    destination: Text = ""

    def request(self) -> MirrorRequest:
        topics = [] if self.which == "all" else self.topic
        if self.which == "some" and not topics:
            raise RefusedField("which", "Select at least one topic, or choose all topics.")
        destination = self.destination.strip() or None
        return MirrorRequest(topics, full=self.full, hashed=self.hashed, destination=destination)


@pages.post("/enable")
async def enable(request: Request, database: InDatabase, key: Key, form: Annotated[MirroringForm, Form()]) -> Response:
    """Mirror the channel as the form says, from the next check on."""
    wanted = form.request()
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        with of_field("destination" if wanted.destination else "full"):
            remark = await operator_requests.enable(connection, kept, wanted)
        if not kept.enabled:
            await operator_requests.check_soon(connection, [kept.key])
    what = "Options saved." if kept.enabled else f'"{call_it(kept)}" will be mirrored from the next check on.'
    return changed(request, f"{what} {remark}".rstrip(), back=f"/channels/{key}/options")


@pages.post("/disable")
async def disable(request: Request, database: InDatabase, key: Key) -> Response:
    """Stop mirroring the channel; what is stored stays."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        await channels.disable(connection, kept)
    return changed(
        request, f'"{call_it(kept)}" is not mirrored any more. What is stored stays.', back=f"/channels/{key}/options"
    )


@pages.post("/cycle")
async def cycle(request: Request, database: InDatabase, key: Key) -> Response:
    """Request a check of the channel."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        reader = await operator_requests.reader_of(connection, kept)
        await operator_requests.ask_cycle(connection, reader, kept)
    return changed(request, f'Check of "{call_it(kept)}" started.', back=first_tab(kept))


@pages.post("/backfill")
async def backfill(
    request: Request, database: InDatabase, key: Key, target: Annotated[str, Form(max_length=20)] = ""
) -> Response:
    """Request older messages: a number of them, everything, or the default depth."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        await operator_requests.ask_backfill(connection, kept, _depth(target.strip().lower()))
    return changed(request, f'Older messages of "{call_it(kept)}" are being loaded.', back=f"/channels/{key}/options")


def _depth(written: str) -> BackfillRequest:
    if written in ("", "default", "all"):
        return BackfillRequest(everything=written == "all")
    number = channels.number_in(written.replace(",", ""))
    if number is None or number < 1:
        raise RefusedField("target", 'How many messages? Write a whole number, or "all".')
    return BackfillRequest(target=number)


@pages.post("/reconcile")
async def reconcile(request: Request, database: InDatabase, key: Key) -> Response:
    """Request a comparison of its newest stored messages with the platform."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        await operator_requests.ask_reconcile(connection, kept, None)
    said = f'Check of "{call_it(kept)}" for edits and deletions started.'
    return changed(request, said, back=f"/channels/{key}/technical")
