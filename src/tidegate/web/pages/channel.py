"""One channel: all that is known of it, and everything that can be asked for it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate import steering
from tidegate.errors import BadInput
from tidegate.rules.history import Content
from tidegate.shapes.channels import channels_listed, topic_row
from tidegate.shapes.cycles import CyclesPage, cycles_page
from tidegate.steering import Depth, Mirroring
from tidegate.store import archives, channel_list, channels, coverage, messages
from tidegate.store.channels import Kept
from tidegate.store.database import Connection
from tidegate.web.api.access import AsSet, InDatabase
from tidegate.web.api.asking import BIGGEST, Text
from tidegate.web.pages.channels import drawn
from tidegate.web.rendering import changed, page
from tidegate.words import CommandId

_TOPICS = 100
_HISTORY = 20

pages = APIRouter(prefix="/channels/{key}")

Key = Annotated[int, Path(ge=1, le=BIGGEST)]


@pages.get("")
async def show(
    request: Request,
    database: InDatabase,
    loaded: AsSet,
    key: Key,
    topics_after: Annotated[int, Query(ge=0, le=BIGGEST)] = 0,
) -> Response:
    """Memory, coverage with its gaps, topics, what was read of it, and what its reader's cycles spent."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        line = await channel_list.line(connection, kept)
        covered = await coverage.load(connection, key)
        head = line.whole["newest_seen"] if line.whole else 0
        [row] = await channels_listed(connection, [line], loaded.settings)
        topics = await channel_list.topics(connection, key, after=topics_after, most=_TOPICS + 1)
        destination = await channels.of_keys(connection, [kept.destination]) if kept.destination else {}
        return page(
            request,
            "channel.html",
            key=key,
            row=row,
            kept=kept,
            head=head,
            picture=drawn(kept, covered, head),
            gaps={kind.value: covered[kind].gaps(head=head) if head else [] for kind in Content},
            stored=await messages.count(connection, key),
            archives=await archives.count(connection, key),
            topics=[topic_row(topic) for topic in topics[:_TOPICS]],
            more_topics=topics[_TOPICS - 1]["topic"] if len(topics) > _TOPICS else None,
            destination=destination.get(kept.destination or 0),
            readings=await channel_list.readings(connection, kept, most=_HISTORY),
            cycles=await _cycles(connection, kept),
        )


async def _cycles(connection: Connection, kept: Kept) -> CyclesPage:
    """The latest cycles of the account that reads the channel."""
    if kept.reader_name is None:
        return CyclesPage(cycles=[], next=None)
    reader = await steering.reader_of(connection, kept)
    return await cycles_page(connection, reader, before=None, most=_HISTORY)


class MirroringForm(BaseModel):
    """How the page's form wants a channel mirrored."""

    full: bool = False
    hashed: bool = False
    topics: str = Field("", max_length=10_000)
    destination: Text = ""

    def told(self) -> Mirroring:
        destination = self.destination.strip() or None
        return Mirroring(_numbers(self.topics), full=self.full, hashed=self.hashed, destination=destination)


@pages.post("/enable")
async def enable(request: Request, database: InDatabase, key: Key, form: Annotated[MirroringForm, Form()]) -> Response:
    """Mirror the channel as the form says, from the next cycle on."""
    wanted = form.told()
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        remark = await steering.enable(connection, kept, wanted)
    return changed(request, f'The next cycle mirrors "{kept.title[:100]}". {remark}'.rstrip(), back=f"/channels/{key}")


def _numbers(written: str) -> list[int]:
    """Topics as people list them: 5, 7 9."""
    found = written.replace(",", " ").split()
    numbers = [channels.number_in(one) for one in found]
    if not all(number is not None and number > 0 for number in numbers):
        raise BadInput("Topics are given by their numbers, such as 5, 7, 9.")
    return [number for number in numbers if number is not None]


@pages.post("/disable")
async def disable(request: Request, database: InDatabase, key: Key) -> Response:
    """Mirror the channel no more; what is stored stays."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        await channels.disable(connection, kept)
    return changed(request, f'"{kept.title[:100]}" is no longer mirrored.', back=f"/channels/{key}")


@pages.post("/cycle")
async def cycle(request: Request, database: InDatabase, key: Key) -> Response:
    """Have the channel looked at now."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        reader = await steering.reader_of(connection, kept)
        command = await steering.ask_cycle(connection, reader, kept)
    return _left(request, kept, command, "A cycle over it")


@pages.post("/backfill")
async def backfill(
    request: Request, database: InDatabase, key: Key, target: Annotated[str, Form(max_length=20)] = ""
) -> Response:
    """Have its history read now: so many messages deep, all of it, or as deep as usual where nothing is said."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        command = await steering.ask_backfill(connection, kept, _depth(target.strip().lower()))
    return _left(request, kept, command, "A backfill of it")


def _depth(written: str) -> Depth:
    if written in ("", "all"):
        return Depth(everything=written == "all")
    number = channels.number_in(written)
    if number is None or number < 1:
        raise BadInput('How deep is a whole number of messages, or "all".')
    return Depth(target=number)


@pages.post("/reconcile")
async def reconcile(request: Request, database: InDatabase, key: Key) -> Response:
    """Have its newest stored messages compared with the platform."""
    async with database.transaction() as connection:
        kept = await kept_channel(connection, key)
        command = await steering.ask_reconcile(connection, kept, None)
    return _left(request, kept, command, "A comparison with the platform")


def _left(request: Request, kept: Kept, command: CommandId, what: str) -> Response:
    """What was asked for is on its way; the page shows what comes of it when it is done."""
    said = f'{what} is asked for (command {command}); the worker that serves "{kept.reader_name}" does it.'
    return changed(request, said, back=f"/channels/{kept.key}")


async def kept_channel(connection: Connection, key: int) -> Kept:
    """The channel of that key, or 404."""
    known = await channels.of_keys(connection, [key])
    if key not in known:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no channel {key} here; it may have been removed.")
    return known[key]
