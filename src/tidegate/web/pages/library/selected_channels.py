"""Many channels mirrored or stopped at once: what was selected, a question that names it, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Form, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.app import operator_requests
from tidegate.app.doctor.status_report import problem_limits
from tidegate.app.operator_requests import MirrorRequest
from tidegate.channels.queries import channel_list, channels, mirror_states
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelKey, TopicId
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection
from tidegate.web.api.parameters import POSITIVE
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import go_to, page
from tidegate.web.pages.library.channels import ChannelsFilter

MOST = 200
"""How many channels are changed at once."""

_TOPICS = 10_000

Keys = Annotated[list[Annotated[ChannelKey, POSITIVE]], Field(max_length=MOST)]
Act = Literal["mirror", "stop"]

pages = GuardedRouter("/channels/selected")


class SelectionQuery(ChannelsFilter):
    """Channels by their keys, or with *everything* those that a filter finds."""

    act: Act
    channel: Keys = Field([])
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """What an action is for, and what it leaves out: what *is_so* already, and what *cannot* be mirrored."""

    concerned: list[KnownChannel]
    is_so: int
    cannot: int

    @classmethod
    def of(cls, found: list[KnownChannel], act: Act) -> Selection:
        able = [one for one in found if one.platform.can_be_mirrored or act == "stop"]
        concerned = [one for one in able if one.enabled == (act == "stop")]
        in_order = sorted(concerned, key=lambda one: natural_key(one.title))
        return cls(in_order, len(able) - len(concerned), len(found) - len(able))

    @property
    def has_archives(self) -> bool:
        """Whether there is a choice between all messages and archives only."""
        return any(one.platform.has_archives and not one.is_private_chat for one in self.concerned)


@pages.get("")
async def ask(
    request: Request, database: InDatabase, loaded: AsSet, asked: Annotated[SelectionQuery, Query()]
) -> Response:
    """Name the channels before anything is changed."""
    async with database.connection() as connection:
        keys = asked.channel
        more = False
        if asked.everything:
            behind = await mirror_states.accounts_behind(connection, problem_limits(loaded.settings).checked_within)
            found = await channel_list.page(connection, await asked.wanted(connection, behind), most=MOST)
            keys, more = [line.kept.key for line in found.lines], found.next is not None
        chosen = Selection.of(await _known(connection, keys), asked.act)
    filtered = asked.model_copy(update={"act": None, "channel": [], "everything": False})
    back = ChannelsFilter.model_validate(filtered.model_dump(include=set(ChannelsFilter.model_fields))).address()
    return page(
        request, "selected_channels.html", chosen=chosen, act=asked.act, back=back, more=more, most=MOST,
        selected=len(keys),
    )  # fmt: skip


class SelectionForm(BaseModel):
    """What is done with which channels."""

    act: Act
    channel: Keys = Field([])
    full: bool = True


@pages.post("")
async def change(request: Request, database: InDatabase, form: Annotated[SelectionForm, Form()]) -> Response:
    """Mirror or stop them, all or none."""
    async with database.transaction() as connection:
        chosen = Selection.of(await _known(connection, form.channel), form.act)
        if not chosen.concerned:
            raise BadInput("None of these channels can be changed that way. Reload the page.")
        for kept in chosen.concerned:
            if form.act == "mirror":
                await operator_requests.enable(connection, kept, await _as_before(connection, kept, full=form.full))
            else:
                await channels.disable(connection, kept)
        if form.act == "mirror":
            await operator_requests.check_soon(connection, [one.key for one in chosen.concerned])
    number = counted(len(chosen.concerned), "channel")
    said = f"{number} will be mirrored; the first check begins now." if form.act == "mirror" else f"{number} stopped."
    return go_to(request, "/channels", said=said)


async def _as_before(connection: Connection, kept: KnownChannel, *, full: bool) -> MirrorRequest:
    """Mirror it as before it was stopped, but for how much of it."""
    topics = await channel_list.topics(connection, kept.key, most=_TOPICS) if kept.by_topic else []
    target = {} if kept.destination is None else await channels.of_keys(connection, [kept.destination])
    return MirrorRequest(
        [TopicId(one["topic"]) for one in topics if one["selected"]],
        full=full,
        hashed=kept.hashed,
        destination=next((str(one.number) for one in target.values()), None),
    )


async def _known(connection: Connection, keys: list[ChannelKey]) -> list[KnownChannel]:
    return list((await channels.of_keys(connection, keys)).values())
