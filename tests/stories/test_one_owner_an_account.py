"""Three workers, 300 accounts: at no instant two owners of one account, whatever happens to the workers (law 8)."""

from __future__ import annotations

import signal

from tests.stories.conftest import World


async def test_accounts_spread_and_move_when_workers_come_and_go(world: World) -> None:
    """Even shares; a kill and a SIGTERM move accounts at once; a newcomer gets its share; nobody is served twice."""
    await world.add_accounts(300)
    for name in "abc":
        world.start_worker(name)
    await world.until_spread(100, 100, 100)
    await world.until_all_called(300)

    world.signal("a", signal.SIGKILL)
    await world.until_spread(150, 150)
    await world.until_all_called(300, besides="a")

    world.start_worker("d")
    await world.until_spread(100, 100, 100)

    world.signal("b", signal.SIGTERM)
    await world.until_spread(150, 150)
    await world.until_all_called(300, besides="b")
    assert world.platform.record.stale_calls() == []
