"""The page of one channel: its details, and the actions on it."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from fastapi import Form, HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.app import operator_requests
from tidegate.app.operator_requests import BackfillRequest, MirrorRequest
from tidegate.app.policies import policy_of
from tidegate.archives.queries import archive_sets
from tidegate.channels.queries import channel_list, channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelKey, CommandId, TopicId
from tidegate.cycles.documents import CyclesPage, cycles_page
from tidegate.database.pool import Connection
from tidegate.history.channel_documents import channels_listed, topic_row
from tidegate.history.queries import coverage, messages, partial_share
from tidegate.web.api.parameters import BIGGEST, Text
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import changed, page
from tidegate.web.pages.channels import drawn
from tidegate.web.server.request_bodies import Router
from tidegate.web.server.streamed_responses import in_thread

_TOPICS = 100
_HISTORY = 20
_COUNTED = 100_000

pages = Router(prefix="/channels/{key}")

Key = Annotated[ChannelKey, Path(ge=1, le=BIGGEST)]


@pages.get("")
async def show(
    request: Request,
    database: InDatabase,
    loaded: AsSet,
    key: Key,
    topics_after: Annotated[TopicId, Query(ge=0, le=BIGGEST)] = channels.NO_TOPIC,
) -> Response:
    """Memory, coverage with its gaps, topics, what was read of it, and what its reader's cycles spent."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        line = await channel_list.line(connection, kept)
        covered = await coverage.load(connection, key)
        head = line.memory["newest_seen"] if line.memory else 0
        policy = policy_of(loaded.settings)
        [row] = await channels_listed(connection, [line], policy.scans, policy.retries)
        topics = await channel_list.topics(connection, key, after=topics_after, most=_TOPICS + 1)
        share = await partial_share.share_of(connection, key)
        picture = await in_thread(lambda: drawn(kept, covered, head))
        destination = await channels.of_keys(connection, [kept.destination]) if kept.destination else {}
        return page(
            request,
            "channel.html",
            key=key,
            row=row,
            kept=kept,
            head=head,
            picture=None if picture is None else replace(picture, partial=share.partial > 0),
            partial=share.words,
            platform=kept.platform,
            stored=await messages.count(connection, key, most=_COUNTED),
            counted=_COUNTED,
            archives=await archive_sets.count(connection, key),
            topics=[topic_row(topic) for topic in topics[:_TOPICS]],
            more_topics=topics[_TOPICS - 1]["topic"] if len(topics) > _TOPICS else None,
            destination=destination.get(kept.destination) if kept.destination else None,
            readings=await channel_list.readings(connection, kept, most=_HISTORY),
            cycles=await _cycles(connection, kept),
        )


async def _cycles(connection: Connection, kept: KnownChannel) -> CyclesPage:
    """The latest cycles of the account that reads the channel."""
    if kept.reader_name is None:
        return CyclesPage(cycles=[], next=None)
    reader = await operator_requests.reader_of(connection, kept)
    return await cycles_page(connection, reader, before=None, most=_HISTORY)


class MirroringForm(BaseModel):
    """The mirroring options of the form."""

    full: bool = False
    hashed: bool = False
    topics: str = Field("", max_length=10_000)
    destination: Text = ""

    def request(self) -> MirrorRequest:
        destination = self.destination.strip() or None
        return MirrorRequest(_numbers(self.topics), full=self.full, hashed=self.hashed, destination=destination)


@pages.post("/enable")
async def enable(request: Request, database: InDatabase, key: Key, form: Annotated[MirroringForm, Form()]) -> Response:
    """Mirror the channel as the form says, from the next cycle on."""
    wanted = form.request()
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        remark = await operator_requests.enable(connection, kept, wanted)
    return changed(request, f'The next cycle mirrors "{kept.title[:100]}". {remark}'.rstrip(), back=f"/channels/{key}")


def _numbers(written: str) -> list[TopicId]:
    """Topics as people list them: 5, 7 9."""
    found = written.replace(",", " ").split()
    numbers = [channels.number_in(one) for one in found]
    if not all(number is not None and number > 0 for number in numbers):
        raise BadInput("Topics are given by their numbers, such as 5, 7, 9.")
    return [TopicId(number) for number in numbers if number is not None]


@pages.post("/disable")
async def disable(request: Request, database: InDatabase, key: Key) -> Response:
    """Stop mirroring the channel; what is stored stays."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        await channels.disable(connection, kept)
    return changed(request, f'"{kept.title[:100]}" is no longer mirrored.', back=f"/channels/{key}")


@pages.post("/cycle")
async def cycle(request: Request, database: InDatabase, key: Key) -> Response:
    """Request a scan of the channel."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        reader = await operator_requests.reader_of(connection, kept)
        command = await operator_requests.ask_cycle(connection, reader, kept)
    return _left(request, kept, command, "A cycle over it")


@pages.post("/backfill")
async def backfill(
    request: Request, database: InDatabase, key: Key, target: Annotated[str, Form(max_length=20)] = ""
) -> Response:
    """Request a backfill: a number of messages, everything, or the default depth."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        command = await operator_requests.ask_backfill(connection, kept, _depth(target.strip().lower()))
    return _left(request, kept, command, "A backfill of it")


def _depth(written: str) -> BackfillRequest:
    if written in ("", "all"):
        return BackfillRequest(everything=written == "all")
    number = channels.number_in(written)
    if number is None or number < 1:
        raise BadInput('How deep is a whole number of messages, or "all".')
    return BackfillRequest(target=number)


@pages.post("/reconcile")
async def reconcile(request: Request, database: InDatabase, key: Key) -> Response:
    """Request a comparison of its newest stored messages with the platform."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        command = await operator_requests.ask_reconcile(connection, kept, None)
    return _left(request, kept, command, "A comparison with the platform")


def _left(request: Request, kept: KnownChannel, command: CommandId, what: str) -> Response:
    """The response to a request: the page shows its result when it is done."""
    said = f'{what} is asked for (command {command}); the worker that serves "{kept.reader_name}" does it.'
    return changed(request, said, back=f"/channels/{kept.key}")


async def kept_channel(connection: Connection, key: ChannelKey) -> KnownChannel:
    """The channel of that key, or 404."""
    known = await channels.of_keys(connection, [key])
    if key not in known:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no channel {key} here; it may have been removed.")
    return known[key]
