"""Accounts whose groups are only sent to: nothing of them is mirrored, so there is nothing to do but to be asked."""

from __future__ import annotations

import asyncio

from tidegate.lanes import Lane
from tidegate.words import AccountId


class GroupLanes:
    """The lanes of such accounts, for whoever wants to list their groups."""

    def __init__(self) -> None:
        self._lanes: dict[AccountId, Lane] = {}
        self._connected = asyncio.Event()

    async def lane(self, account: AccountId) -> Lane:
        """The lane of *account*, once it is connected."""
        while account not in self._lanes:
            self._connected.clear()
            await self._connected.wait()
        return self._lanes[account]

    async def work(self, lane: Lane) -> None:
        """Hold the lane ready for as long as the account is served."""
        self._lanes[lane.account.id] = lane
        self._connected.set()
        try:
            await asyncio.Event().wait()
        finally:
            self._lanes.pop(lane.account.id, None)
