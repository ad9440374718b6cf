"""How accounts are spread over living workers (one-owner-per-account)."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.core.ids import WorkerNumber


def fair_shares(accounts: int, seats: Mapping[WorkerNumber, int]) -> dict[WorkerNumber, int]:
    """How many accounts each worker should serve: as even as its seats allow, the remainder to the lowest numbers.

    Every worker computes this for itself, so it depends only on what all of them see.
    """
    left, waiting = accounts, sorted(seats, key=lambda number: seats[number])
    shares: dict[WorkerNumber, int] = {}
    while waiting and seats[waiting[0]] <= left // len(waiting):
        full = waiting.pop(0)
        shares[full] = seats[full]
        left -= seats[full]
    for rank, number in enumerate(sorted(waiting)):
        shares[number] = left // len(waiting) + (rank < left % len(waiting))
    return shares
