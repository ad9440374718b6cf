"""Several things at a time: whatever ends the waiting, nothing goes on behind the back of whoever asked."""

from __future__ import annotations

import asyncio

import pytest

from tidegate.side_by_side import beside, each, first_of, together


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
