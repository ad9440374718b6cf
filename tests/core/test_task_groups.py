"""Several things at a time: whatever ends the waiting, nothing goes on behind the back of whoever asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tidegate.core.task_groups import beside, each, first_of, together


class Job:
    """Goes on until it is told to end; knows whether it was ended."""

    def __init__(self) -> None:
        self.ended = False

    async def go(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


async def breaks() -> None:
    await asyncio.sleep(0)  # the others have begun
    raise ConnectionResetError


async def test_the_first_failure_ends_the_others_before_it_is_raised() -> None:
    """Whoever hears of the failure may begin anew, and finds nothing still running."""
    job = Job()
    with pytest.raises(ConnectionResetError):
        await together(job.go(), breaks())
    assert job.ended


async def test_the_first_to_end_ends_the_others() -> None:
    """A failure counts as an end, and is told."""
    one, other = Job(), Job()
    await first_of(one.go(), asyncio.sleep(0))
    with pytest.raises(ConnectionResetError):
        await first_of(other.go(), breaks())
    assert (one.ended, other.ended) == (True, True)


class Tidy:
    """Takes a while to tidy up once it is told to end; counts how often it was told."""

    def __init__(self) -> None:
        self.told = 0
        self.tidied = False

    async def go(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.told += 1
            try:
                for _ in range(5):
                    await asyncio.sleep(0)
                self.tidied = True
            except asyncio.CancelledError:
                self.told += 1
                raise


@pytest.mark.parametrize("way", [together, first_of])
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_who_is_told_to_end_may_tidy_up(way: Callable[..., Coroutine[Any, Any, None]], times: int) -> None:
    """Told twice, a transaction would be cut off in mid-rollback and a send before it is marked; so each is told once.

    That holds however fast the others end, and however often whoever waits for them is told.
    """
    job, tidy = Job(), Tidy()
    waiting = asyncio.create_task(way(job.go(), tidy.go()))
    for _ in range(times):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (job.ended, tidy.told, tidy.tidied) == (True, 1, True)


async def test_what_goes_on_beside_a_block_ends_with_it() -> None:
    """Also when the block fails; its failure is the one that is told."""
    job = Job()

    async def block() -> None:
        async with beside(job.go()) as (task,):
            await asyncio.sleep(0)
            assert not task.done()
            await breaks()

    with pytest.raises(ConnectionResetError):
        await block()
    assert job.ended


async def test_so_many_at_once_and_begun_in_order() -> None:
    """Each item is done once, and never more of them at a time than was said."""
    begun: list[int] = []
    running = most = 0

    async def do(item: int) -> None:
        nonlocal running, most
        begun.append(item)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await each(range(7), do, at_once=3)
    assert (begun, most) == (list(range(7)), 3)
