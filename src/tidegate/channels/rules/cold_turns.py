"""In which cycle each channel and topic has its turn, when not all of them are read in every cycle."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count, islice


def free_offsets(taken: Collection[int], wanted: int) -> list[int]:
    """Offsets for *wanted* new places: the smallest numbers not *taken*.

    So an account's offsets stay 0, 1, 2 …, and each cycle gets an equal share of the places. That holds for any number
    of cycles between turns that the operator sets.
    """
    held = frozenset(taken)
    return list(islice((number for number in count() if number not in held), wanted))
