"""The page Storage: what files take, which are kept, what could be freed, and the question of an older database."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Form, HTTPException, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.app.settings import Settings
from tidegate.channels.queries import channel_list, channel_places, channels
from tidegate.core.ids import ChannelKey
from tidegate.core.platform import platform_named
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection, Database
from tidegate.events.kinds.media import MediaRemoved
from tidegate.events.queries import feed
from tidegate.media.documents import policy_document
from tidegate.media.policy_requests import PolicyRequest, change_policy
from tidegate.media.queries import file_removal, media_plans, media_rules, media_totals
from tidegate.media.queries.media_rules import MediaPolicy
from tidegate.media.queries.media_totals import ChannelMedia
from tidegate.media.rules.fetch_duration import hours_for
from tidegate.media.rules.media_policy import KindPolicy, MediaPlace, PolicyKind, policy_for, total_limit
from tidegate.media.rules.unneeded_files import KeptSums, UnneededFiles, unneeded_files, why_none
from tidegate.media.store import MediaStore, StoreTrouble
from tidegate.web.api.parameters import BIGGEST, Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.charts.activity_charts import storage_growth
from tidegate.web.page_response import changed, page
from tidegate.web.pages.library.channel_head import kept_channel
from tidegate.web.refused_field import RefusedField, of_field, require_size

LATER = "tidegate_media_later"
"""The cookie of a browser that is asked again in a week."""

_WEEK = 7 * 24 * 3600
_CHANNELS = 100
_TITLES = 500
_BATCH = 1_000
_BATCHES = 20
_NOWHERE = MediaPlace(ChannelKey(0), None, in_full=True)

pages = GuardedRouter("/storage")


@dataclass(frozen=True, slots=True)
class StorageRow:
    """A channel's files of one kind, and which of them could be removed."""

    media: ChannelMedia
    unneeded: UnneededFiles | None


@dataclass(frozen=True, slots=True)
class MediaEstimate:
    """About what fetching the files of stored messages would take."""

    files: int
    bytes: int
    hours: float


@pages.get("")
async def show(request: Request, database: InDatabase, loaded: AsSet) -> Response:
    """Totals by channel and kind, the limit, the policy, and what could be freed."""
    store: MediaStore = request.app.state.media_store
    async with database.connection() as connection:
        policy = await media_rules.policy(connection)
        document = await policy_document(connection)
        rows = await _rows(connection, policy)
        growth = await storage_growth(connection)
        titles = await channel_list.mirrored_titles(connection, most=_TITLES)
        numbers = {one.media.number for one in rows} | {one.channel for one in document.rules if one.channel}
        places = await channel_places.of_numbers(connection, numbers)
    free, trouble = await _free(store)
    return page(
        request, "storage.html", policy=document, rows=rows, store=store.name, free=free, trouble=trouble,
        growth=growth, places=places, titles=titles,
        waiting=sum(one.files for one in document.totals if one.state in ("wanted", "failed")),
        limit=total_limit(policy.state, free=free, stored=document.stored_bytes), kinds=_kinds(policy),
        freeable=sum(one.unneeded.bytes for one in rows if one.unneeded),
        estimate=await estimated(database, loaded.settings) if policy.asks else None,
    )  # fmt: skip


async def _rows(connection: Connection, policy: MediaPolicy, channel: ChannelKey | None = None) -> list[StorageRow]:
    """What channels keep by kind, and what of it could be removed: of one channel, or of those that keep most."""
    found = await media_totals.by_channel(connection, channel=channel, most=_CHANNELS)
    limits = {(one.place.channel, one.kind): policy_for(policy.rules, one.place, one.kind).largest for one in found}
    larger = await media_totals.larger(connection, limits)
    return [_row(policy, one, larger.get((one.place.channel, one.kind), 0)) for one in found]


def _row(policy: MediaPolicy, one: ChannelMedia, larger: int) -> StorageRow:
    kept = KeptSums(one.bytes, larger, one.in_channel)
    unneeded = unneeded_files(policy.state, policy.rules, one.place, one.kind, kept, mirrored=one.mirrored)
    return StorageRow(one, unneeded if one.kept else None)


def _kinds(policy: MediaPolicy) -> dict[PolicyKind, KindPolicy]:
    """What holds for each kind where no rule of a channel or account says otherwise."""
    return {kind: policy_for(policy.rules, _NOWHERE, kind) for kind in PolicyKind}


async def _free(store: MediaStore) -> tuple[int | None, str]:
    try:
        return await asyncio.to_thread(store.free), ""
    except StoreTrouble as problem:
        return None, str(problem)


# Changes


class RuleForm(BaseModel):
    """A rule; an empty field says nothing."""

    channel: Text = ""
    account: Text = ""
    kind: Text = ""
    action: Text = ""
    largest: Text = ""
    beyond: Text = ""
    channel_limit: Text = ""
    reset: bool = False


@pages.post("/policy")
async def set_rule(request: Request, database: InDatabase, form: Annotated[RuleForm, Form()]) -> Response:
    """Store a rule for a channel, an account or everything, or remove those of a place and kind."""
    written = {name: value.strip() or None for name, value in form.model_dump(exclude={"reset"}).items()}
    asked = PolicyRequest(**written, reset=form.reset)
    if not asked.sets_rule and not asked.reset:
        raise RefusedField("action", "Choose what is done with these files, or a limit.")
    require_size("largest", form.largest.strip())
    require_size("channel_limit", form.channel_limit.strip())
    async with database.transaction() as connection:
        with of_field("channel"):
            if asked.channel:
                await channels.find(connection, asked.channel)
        await change_policy(connection, asked)
    return changed(request, "Rule saved. Files of stored messages are checked against it.", back="/storage")


class LimitForm(BaseModel):
    """What holds for all files; an empty limit is left as it is."""

    enabled: bool | None = None
    total_limit: Text = ""
    keep_protected: bool | None = None


@pages.post("/limits")
async def set_limits(request: Request, database: InDatabase, form: Annotated[LimitForm, Form()]) -> Response:
    """Turn media on or off, or change the total limit."""
    asked = PolicyRequest(
        enabled=form.enabled, total_limit=form.total_limit.strip() or None, keep_protected=form.keep_protected
    )
    if not asked.sets_state:
        raise RefusedField("total_limit", "Write a limit such as 50GB, or auto.")
    if asked.total_limit != "auto":
        require_size("total_limit", asked.total_limit or "")
    async with database.transaction() as connection:
        await change_policy(connection, asked)
    return changed(request, "Saved.", back="/storage")


class FreeForm(BaseModel):
    """Kept files of one kind in one channel."""

    channel: Annotated[ChannelKey, Form(ge=1, le=BIGGEST)]
    kind: PolicyKind


@pages.post("/free")
async def free(request: Request, database: InDatabase, form: Annotated[FreeForm, Form()]) -> Response:
    """Remove kept files, some at a time, each with its event; of many a part, so that no request takes long."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, form.channel)
        policy = await media_rules.policy(connection)
        rows = await _rows(connection, policy, kept.key)
        keepers = await _keepers(connection, policy, form.kind)
    unneeded = next((one.unneeded for one in rows if one.media.kind is form.kind), None)
    if unneeded is None:
        raise HTTPException(HTTPStatus.CONFLICT, "The policy keeps these files. Change it first.")
    removed, after = 0, None
    for _ in range(_BATCHES):
        async with database.transaction() as connection:
            some = await file_removal.remove(
                connection, kept.key, form.kind, unneeded, keepers=keepers, after=after, most=_BATCH
            )
            if some.removed:
                told = MediaRemoved(files=some.removed, blocked=False, channel=kept.number)
                await feed.record(connection, kept.title, told)
        removed, after = removed + some.removed, some.last
        unneeded = replace(unneeded, bytes=unneeded.bytes - some.bytes)
        if after is None:
            break
    said = f"{counted(removed, 'file')} deleted. " + (
        "The next clean-up frees their space." if after is None else "There are more: press Delete again."
    )
    return changed(request, said, back="/storage")


async def _keepers(connection: Connection, policy: MediaPolicy, kind: PolicyKind) -> dict[ChannelKey, int]:
    """The channels where the policy keeps files of a kind, each with its limit for one file."""
    found = {}
    for place in await media_rules.mirrored_places(connection):
        rules = policy_for(policy.rules, place, kind)
        if not why_none(policy.state, rules, place, kind, mirrored=True):
            found[place.channel] = rules.largest
    return found


# The question of a database that is older than media


async def asks(connection: Connection, request: Request) -> bool:
    """Whether Home asks: the operator has not decided, and this browser was not answered "later"."""
    return LATER not in request.cookies and (await media_rules.policy(connection)).asks


@pages.get("/question")
async def question(request: Request, database: InDatabase, loaded: AsSet) -> Response:
    """The question with its estimate, loaded by Home after everything else."""
    async with database.connection() as connection:
        policy = await media_rules.policy(connection)
        asked = await asks(connection, request)
    estimate = await estimated(database, loaded.settings) if asked else None
    return page(request, "parts/media_question.html", estimate=estimate, policy=policy)


async def estimated(database: Database, settings: Settings) -> MediaEstimate:
    """What the usual policy would fetch; accounts work side by side, so the slowest decides."""
    async with database.connection() as connection:
        found = await media_plans.estimate(connection)
    hours = [hours_for(one.files, one.bytes, settings.reads_per_second(platform_named(one.platform))) for one in found]
    return MediaEstimate(sum(one.files for one in found), sum(one.bytes for one in found), max(hours, default=0.0))


class DecisionForm(BaseModel):
    """The answer to the question."""

    answer: Literal["yes", "no", "later"]


@pages.post("/decide")
async def decide(request: Request, database: InDatabase, form: Annotated[DecisionForm, Form()]) -> Response:
    """Keep files from now on, keep none, or ask this browser again in a week."""
    if form.answer == "later":
        answer = changed(request, "You are asked again in a week. The page Storage has the question too.", back="/")
        answer.set_cookie(LATER, "1", max_age=_WEEK, httponly=True, samesite="lax")
        return answer
    async with database.transaction() as connection:
        if not (await media_rules.policy(connection)).asks:
            raise HTTPException(HTTPStatus.CONFLICT, "This has been decided. The page Storage changes it.")
        await change_policy(connection, PolicyRequest(enabled=form.answer == "yes"))
    said = "Files are fetched in the background." if form.answer == "yes" else "No files are kept."
    return changed(request, said, back="/")
