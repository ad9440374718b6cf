"""A million archives to look through: a thousand channels, of which a few hold much and some have fallen silent.

Names, and the paths of the files inside, are made of the words of ``_messages``, some as common as in real languages
and some that only their channel uses. Every tenth name is Chinese. Words of known shares are planted besides.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import product

from bench import _million_messages
from tidegate.archives.queries.archive_search import STATES
from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.database.pool import Database
from tidegate.maintenance.row_loader import without_rules

ARCHIVES = 1_000_000
CHANNELS = 1_000
PLANTED = {"rare": 50_000, "middling": 200, "common": 3}
"""One archive in so many has the word ``xrare`` in its name; in as many others the path of a file has ``irare``."""

_TITLES = 30_000
_KIND = " ".join(f"WHEN n % {one_in} = {{rest}} THEN '{{letter}}{kind}'" for kind, one_in in PLANTED.items())

# Of the words the first is drawn twice as often as the second, and so on.
_FILL = f"""
    CREATE TEMPORARY TABLE drawn ON COMMIT DROP AS
    SELECT n, channel, floor(power({{words}}, random()))::int AS often,
        1 + (channel * 31 + floor(power(300, random()))::int) % {{words}} AS own, n % {_TITLES} + 1 AS title
    FROM (
        SELECT n, channel + (channel % 10 = 0 AND n > {ARCHIVES} / 2)::int AS channel FROM (
            SELECT n, 1 + floor(({CHANNELS} - 1) * power(random(), 2))::int AS channel
            FROM generate_series(1, {ARCHIVES}) AS n
        ) AS spread
    ) AS placed;

    INSERT INTO archives (channel, topic, kind, base, name, state)
    SELECT (SELECT min(id) - 1 FROM channels) + channel, 0, '{ArchiveKind.ZIP}', n::text,
        concat_ws('_', CASE {_KIND.format(rest=1, letter="x")} END,
            CASE WHEN n % 10 = 3 THEN t.han ELSE o.word || ' ' || w.word END, n) || '.zip',
        CASE WHEN n % 50 = 7 THEN 'failed' WHEN n % 1000 = 8 THEN 'incomplete' WHEN n > {ARCHIVES} * 0.99 THEN 'waiting'
            ELSE 'filed' END
    FROM drawn d JOIN words o ON o.rank = often JOIN words w ON w.rank = own JOIN titles t ON t.rank = title
    ORDER BY n;

    INSERT INTO archive_contents (archive, number, path, size, words)
    SELECT archive, number, path, 1000,
        array_to_tsvector(array_remove(string_to_array(translate(path, '/_.', '   '), ' '), ''))
    FROM (
        SELECT a.id AS archive, number, concat_ws('_', 'parts/' || o.word, w.word,
            CASE {_KIND.format(rest=2, letter="i")} END, number, n) || '.stl' AS path
        FROM drawn d JOIN archives a ON a.base = n::text JOIN words o ON o.rank = often JOIN words w ON w.rank = own
        CROSS JOIN generate_series(1, {{files}}) AS number
    ) AS made
    ORDER BY archive, number;

    INSERT INTO archive_parts (archive, channel, message, file, number, name, size, at, seen_at, sender)
    SELECT id, channel, id, id, 1, name, 1000, clock_now(), clock_now(), 'Ada' FROM archives;
    INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at)
    SELECT id, channel, 0, id, 'download', 1, clock_now() FROM archives WHERE state = 'failed';
"""


async def fill(database: Database, *, files: int = 1) -> None:
    """Archives, a part and some *files* in each, and failures; references and indexes come last, which is quicker."""
    words = _million_messages.language()
    async with database.transaction() as connection:
        await connection.execute(
            """
            SET LOCAL maintenance_work_mem = '512MB';
            SET LOCAL work_mem = '256MB'; SELECT setseed(0.5);
            CREATE TEMPORARY TABLE words (rank integer, word text) ON COMMIT DROP;
            CREATE TEMPORARY TABLE titles (rank integer, han text) ON COMMIT DROP;
            """
        )
        await connection.copy_records_to_table("words", records=enumerate(words, start=1))
        await connection.copy_records_to_table("titles", records=enumerate(_titles(), start=1))
        async with without_rules(connection):
            await connection.execute(_FILL.format(words=len(words), files=files))
    await database.pool.execute("VACUUM ANALYZE")


@cache
def _titles() -> list[str]:
    dice = random.Random(8)
    return [_million_messages.chinese(dice, 4) for _ in range(_TITLES)]


def asked() -> dict[str, list[str]]:
    """Each way in which people look for archives, as what the page is asked for.

    The first channels hold the most; those whose number ends with a nought have fallen silent.
    """
    states, channels = [f"state={state}" for state in STATES], [f"channel={number}" for number in (1, 10, 55, 900)]
    texts = {
        "letter": ["e", "z", "q", "~"],
        "two_letters": ["ba", "11", "yz", "~~"],
        "three_letters": ["bad", "zip", "xyz", "elf"],
        "many_letters": ["belor", "xcommon_", ".zip", "ba ne"],
        "often_said": _million_messages.language()[:100:8],
        "rare": ["xrare"],
        "middling": ["xmiddling"],
        "common": ["xcommon"],
        "unknown": ["nowhere", "nowhere at all"],
        "chinese": [
            _titles()[3][:1],
            _million_messages.HAN[2_000],
            _titles()[3][:2],
            _titles()[13][1:3],
            _titles()[23],
        ],
        "rare_inside": ["irare"],
        "middling_inside": ["imiddling"],
        "common_inside": ["icommon", "parts stl"],
    }
    chosen = [f"q={text}" for several in texts.values() for text in several[:3]]
    return {
        "first": [""],
        "far_in": [f"before={ARCHIVES // 10}"],
        "state": states,
        "channel": channels,
        "channel_and_state": _together(channels, states),
        **{kind: [f"q={text}" for text in several] for kind, several in texts.items()},
        "text_and_channel": _together(chosen, channels),
        "text_and_state": _together(chosen, states),
        "text_channel_and_state": _together(chosen, channels, states),
    }


def _together(*several: list[str]) -> list[str]:
    """Each with each of the others, in no order."""
    combined = ["&".join(one) for one in product(*several)]
    return random.Random(9).sample(combined, len(combined))
