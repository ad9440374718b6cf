"""calls-through-a-lane: every call is on the ledger, as the platform itself counts them."""

from __future__ import annotations

from collections import Counter

from tests.workers.conftest import Engine
from tidegate.core.ids import ChannelId
from tidegate.lanes import Lane
from tidegate.platforms.interface import SendKey


async def test_ledger_and_platform_agree_method_by_method(engine: Engine) -> None:
    """Work is counted by method; what a library sends to connect is counted apart."""

    async def work(lane: Lane) -> None:
        for number in range(3):
            await lane.heads([ChannelId(1)])
            await lane.page(ChannelId(1), before=None)
            await lane.send(ChannelId(number), "hello", key=SendKey(f"{lane.account.name}-{number}"))

    for name in ("one", "two"):
        await engine.add(name)
    async with engine.worker("anna", work=work):
        await engine.until_called("one", 9)

        async def all_sent() -> bool:
            return len(engine.platform.record.sends) == 6

        await engine.until(all_sent)

    rows = await engine.database.pool.fetch(
        """
        SELECT a.name, c.method, count(*), count(*) FILTER (WHERE outcome = 'ok') AS ok
        FROM calls c JOIN accounts a ON a.id = c.account
        WHERE c.kind = 'work'
        GROUP BY 1, 2
        """
    )
    assert {(row["name"], row["method"]): row["count"] for row in rows} == Counter(
        (call.account, call.method) for call in engine.platform.record.calls
    )
    assert all(row["ok"] == row["count"] for row in rows)
    connects = await engine.database.pool.fetchval("SELECT count(*) FROM calls WHERE kind = 'connect'")
    assert connects == len(engine.platform.record.sessions) == 2
