"""Whatever a stranger writes, and wherever: it is stored, told, shown and found, and keeps nothing else from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from tests.history.rich_messages import ADA, file, wrote
from tests.history.stored_messages import kept
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.errors import BadInput
from tidegate.core.ids import MessageId
from tidegate.core.message_content import (
    PLAIN,
    Embed,
    Forward,
    LinkPreview,
    MessageContent,
    MessageKind,
    OriginKind,
    Poll,
    PollAnswer,
    Reply,
    SpanKind,
    TextSpan,
)
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection, Database
from tidegate.history.message_documents import messages_page
from tidegate.history.queries import bot_context, messages, timeline
from tidegate.history.queries.timeline import TimelineBounds
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.interface import FileForm, Message, Reaction
from tidegate.platforms.telegram import TELEGRAM
from tidegate.search.queries.ranked_hits import SearchHit, search
from tidegate.search.rules.highlights import highlighted
from tidegate.search.rules.query_language import read_query
from tidegate.web.chat_view import ChatReader

__all__ = ["kept"]  # a fixture

BOUNDS = bot_context.ContextBounds(deleted=True)

NASTY = st.sampled_from(
    ["", "-" * 300, "> " * 500, "\ud800", "a\x00b", "\u202eevil\n", "猫" * 1_500, "ﷺ" * 300, "**[" * 400, "<@1> " * 300]
)
TEXTS = NASTY | st.text(max_size=20) | st.text(alphabet="-=_*`~|<>@#:/\\ \n\t'\"()[]{}&!?0a", max_size=40)
TUPLES = st.lists(TEXTS, max_size=2).map(tuple)
NAMES = st.text(max_size=4)
SPANS = st.builds(TextSpan, st.sampled_from(SpanKind), st.integers(-5, 30_000), st.integers(-5, 30_000), TEXTS)
EMBEDS = st.lists(
    st.builds(
        Embed, kind=TEXTS, title=TEXTS, description=TEXTS, url=TEXTS, author=TEXTS, colour=st.none() | st.integers(),
        fields=st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple), media=TUPLES,
    ),
    max_size=1,
).map(tuple)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
READ_NAMES = st.sampled_from(["latitude", "longitude", "emoji", "duration", "items", "stickers", "value"])
CONTENTS = st.builds(
    MessageContent,
    formatting=st.lists(SPANS, max_size=5).map(tuple),
    forward=st.none()
    | st.builds(Forward, st.sampled_from(OriginKind), name=TEXTS, text=TEXTS, embeds=EMBEDS, files=TUPLES),
    reply=st.none() | st.builds(Reply, quote=TEXTS, author=TEXTS),
    poll=st.none()
    | st.builds(Poll, TEXTS, st.lists(st.builds(PollAnswer, TEXTS, TEXTS), max_size=2).map(tuple), explanation=TEXTS),
    preview=st.none() | st.builds(LinkPreview, TEXTS, title=TEXTS, site=TEXTS),
    embeds=EMBEDS,
    service=TEXTS,
    details=st.none() | st.dictionaries(NAMES | READ_NAMES, JSON, max_size=3),
    mentions=st.none() | st.dictionaries(NAMES, TEXTS, max_size=2),
    texts=TUPLES,
    marks=TUPLES,
    via=TEXTS,
    unsupported=TEXTS,
)


@st.composite
def messages_of_strangers(draw: st.DrawFn) -> Message:
    files = tuple(file(number, name, FileForm.FILE) for number, name in enumerate(draw(st.just(()) | TUPLES), start=1))
    return replace(
        wrote(50, ADA, draw(TEXTS)),
        author=draw(TEXTS),
        kind=draw(st.sampled_from(MessageKind)),
        content=draw(st.just(PLAIN) | CONTENTS),
        files=files,
        raw=draw(st.dictionaries(NAMES, JSON, max_size=2)),
        reactions=tuple(Reaction(emoji, 1) for emoji in draw(TUPLES)),
    )


def here(moment: datetime) -> datetime:
    return moment


async def hits(connection: Connection, typed: str) -> Sequence[SearchHit]:
    """What a search finds; nothing where it is refused with a sentence."""
    try:
        return (await search(connection, read_query(typed, here), most=5)).found
    except BadInput:
        return []


@pytest.mark.parametrize("platform", [TELEGRAM, DISCORD], ids=["telegram", "discord"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stranger=messages_of_strangers(), typed=TEXTS.map(lambda text: text[:300]))
async def test_any_message_is_stored_told_shown_and_found(
    database: Database, kept: KnownChannel, platform: Platform, stranger: Message, typed: str
) -> None:
    """Nothing in it makes a page, the API, a context or a search fail; the message after it is stored too."""
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            answer = wrote(51, ADA, "next", reply_to=MessageId(50))
            await messages.store(connection, kept.key, [stranger, answer])
            found = await timeline.since(connection, kept, 50, TimelineBounds(10, raw=True))
            assert [one.id for one in found.messages] == [50, 51]
            assert to_json(messages_page(kept, found, deleted=True))
            for shown in ChatReader(platform, "/people/", kept.key).chat(found.messages):
                assert isinstance(f"{shown.text.head}{shown.text.rest}{shown.details}".encode(), bytes)
            part = await bot_context.load(connection, kept, [MessageId(50), MessageId(51)])
            lines = [one["line"] for one in bot_context.documents(part, BOUNDS, now=answer.at, here=here)]
            assert [len(line.splitlines()) for line in lines] == [1, 1]
            assert 51 in [hit.id for hit in await hits(connection, "next")]
            for hit in await hits(connection, typed):
                assert "".join(piece for piece, _ in highlighted(hit.text, [typed])) == hit.text
        finally:
            await transaction.rollback()
