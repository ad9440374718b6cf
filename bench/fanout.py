"""A thousand groups take as long as the pace asks for and no longer, with one upload for each file."""

from __future__ import annotations

from typing import Any

from bench._database_server import own_database
from bench._reminder_delivery import PHONE, Queries, far_telegram, shop_on
from bench._send_throughput import most_sends
from bench._sequential_sender import naive_minutes
from bench._two_hundred_accounts import many_accounts
from bench._whatsapp_children import whatsapp_children

GROUPS = 1_000
PACE = 40
PICTURE = b"a picture of low tide" * (5_000_000 // 21)
NAIVE_GROUPS = 20
"""The naive way takes the same time for each group, so these few tell of a thousand."""

TEXT = {"text": "Good morning {group}"}
POSTER = {"media": "poster.jpg", "caption": "New prices"}


async def run() -> dict[str, Any]:
    """Minutes are held time where they would be long; memory, shares of many accounts and sends a second are real."""
    rows = [
        await thousand([POSTER]),
        await thousand([TEXT, POSTER]),
        await many_accounts(),
        await whatsapp_children(1),
        await whatsapp_children(5),
    ]
    return {"rows": rows, **await most_sends()}


async def thousand(parts: list[dict[str, str]]) -> dict[str, Any]:
    """1,000 groups in held time, over a line with a round trip of 100 ms and 20 Mbit/s upwards."""
    queries = Queries()
    async with own_database(connections=10) as database, far_telegram(database, groups=GROUPS) as (server, clock):
        async with shop_on(database, server, clock, per_minute=PACE) as shop:
            await shop.save(parts, {"poster.jpg": PICTURE})
            async with shop.served() as deliveries:
                await queries.watch(database)
                fired_at = clock.now()
                await shop.fire(deliveries)
                await shop.deliver()
        record = server.world.record
    minutes = (record.sends[-1].at - fired_at).total_seconds() / 60
    ideal = GROUPS * len(parts) / PACE
    assert len(record.sends) == GROUPS * len(parts)
    return {
        "groups": GROUPS,
        "parts": len(parts),
        "pace_per_minute": PACE,
        "minutes": round(minutes, 2),
        "ideal_minutes": ideal,
        "share_of_limit": round(ideal / minutes, 4),
        "uploads": len(record.uploads),
        "bytes_uploaded": sum(upload.bytes for upload in record.uploads),
        "queries_before_first_send": queries.before_first_claim,
        "naive_minutes": round(await naive(with_text=len(parts) > 1), 1),
    }


async def naive(*, with_text: bool) -> float:
    """The same the naive way, from a few groups."""
    async with (
        own_database(connections=10) as database,
        far_telegram(database, groups=NAIVE_GROUPS) as (server, clock),
    ):
        each = await naive_minutes(database, server, clock, phone=PHONE, picture=PICTURE, with_text=with_text)
    return each * GROUPS
