"""A million messages to search in, or ten: 200 channels over three years, in the words of a made-up language.

Its words are as common as those of real languages: the second is half as common as the first, and so on. Every tenth
message is Chinese. Words of known shares are planted besides. Equal numbers give equal messages, on every machine.

More than a million are the first million again, each time begun at another point of the three years. So messages that
were posted together lie in as many parts of the table as channels do that were backfilled one after the other.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from multiprocessing import get_context
from typing import NamedTuple

from tidegate.database.pool import Database
from tidegate.search.rules.tokenizer import author_tags, vector

MESSAGES = 1_000_000
CHANNELS = 200
BATCH = 10_000
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SPREAD = timedelta(days=3 * 365)

SHARES = {"rare": 0.00002, "middling": 0.005, "common": 0.3, "between": 0.05}
"""How many of the messages that are not Chinese have a word of each kind."""

WORDS_A_KIND = 5
LONGEST = 25
SYLLABLES = [first + last for first in "bdfgklmnprstvw" for last in ("a", "e", "i", "o", "u", "an", "el", "or")]
HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 3_000)]
HAN_SHARE = 0.1
CHINESE = [HAN[20] + HAN[30], HAN[7] + HAN[90], HAN[200] + HAN[3]]


class Batch(NamedTuple):
    """So many messages, column by column as they are stored."""

    authors: list[int]
    texts: list[str]
    words: list[str]


async def fill(database: Database, messages: int = MESSAGES) -> None:
    """So many messages, made on every core; the indexes are made afterwards, which is quicker."""
    pool = database.pool
    indexes = await pool.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'messages' AND indexname <> 'messages_pkey'"
    )
    await pool.execute("; ".join(f"DROP INDEX {one['indexname']}" for one in indexes))
    await pool.execute(
        """
        INSERT INTO channels (platform, number, title)
        SELECT 'discord', n, 'Channel ' || n FROM generate_series(1, $1::int) n
        """,
        CHANNELS,
    )
    start = 0
    async for batch in _batches(min(messages, MESSAGES) // BATCH):
        await _store(database, start, batch)
        start += BATCH
    for turn in range(1, messages // MESSAGES):
        await pool.execute(_AGAIN, turn, SPREAD, MESSAGES, NOW)
    for one in indexes:
        await pool.execute(f"SET maintenance_work_mem = '512MB'; {one['indexdef']}")
    await pool.execute("VACUUM ANALYZE")


# A message's number is ten times its place in time; a later turn takes the numbers between.
_AGAIN = """
    INSERT INTO messages (channel, id, at, author, author_id, text, words)
    SELECT channel, 10 * place + $1::bigint, $4::timestamptz - $2::interval
            + $2::interval / $3::integer * (place + $1::bigint / 10.0), author, author_id, text, words
    FROM (SELECT *, (id / 10 + $1::bigint * $3::integer / 10) % $3::integer AS place
          FROM messages WHERE id % 10 = 0) AS first
"""


async def _batches(count: int) -> AsyncIterator[Batch]:
    """Batches in their order, a few ahead of whoever stores them."""
    loop = asyncio.get_running_loop()
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores, get_context("spawn")) as makers:
        ahead = [loop.run_in_executor(makers, make, number) for number in range(min(count, 2 * cores))]
        for number in range(len(ahead), count + len(ahead)):
            yield await ahead.pop(0)
            if number < count:
                ahead.append(loop.run_in_executor(makers, make, number))


async def _store(database: Database, start: int, batch: Batch) -> None:
    await database.pool.execute(
        """
        INSERT INTO messages (channel, id, at, author, author_id, text, words)
        SELECT 1 + number % $1::integer, 10 * ($2::bigint + number), $3::timestamptz + $4::interval * number,
            'Author ' || who, who, text, words::tsvector
        FROM unnest($5::integer[], $6::text[], $7::text[]) WITH ORDINALITY AS t (who, text, words, number)
        """,
        CHANNELS, start, NOW - SPREAD + SPREAD * (start / MESSAGES), SPREAD / MESSAGES, *batch,
    )  # fmt: skip


def make(number: int) -> Batch:
    """The batch of this number."""
    dice = random.Random(number)
    texts = [_text(dice) for _ in range(BATCH)]
    authors = [dice.randrange(500) for _ in texts]
    words = [vector([text], author_tags(f"Author {who}", who)) for who, text in zip(authors, texts, strict=True)]
    return Batch(authors, texts, words)


def _text(dice: random.Random) -> str:
    """A message of 3 to 25 words, or of as many characters."""
    length = dice.randint(3, LONGEST)
    if dice.random() < HAN_SHARE:
        return chinese(dice, length)
    chosen = dice.choices(language(), cum_weights=_ranks(len(language())), k=length)
    planted = [word for kind, share in SHARES.items() for word in planted_words(kind) if dice.random() < share]
    return " ".join([*chosen, *planted])


def chinese(dice: random.Random, length: int) -> str:
    """So many characters, the first as common as in real texts."""
    return "".join(dice.choices(HAN, cum_weights=_ranks(len(HAN)), k=length))


@cache
def language() -> list[str]:
    """Its words, the most common first."""
    dice = random.Random(7)
    return ["".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(30_000)]


@cache
def _ranks(count: int) -> list[float]:
    """How common the words of these ranks are, summed up."""
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


@cache
def planted_words(kind: str) -> list[str]:
    """Words that no syllables make, so that exactly their share of messages has them."""
    return [f"x{kind}{number}" for number in range(WORDS_A_KIND)]
