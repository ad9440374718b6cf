"""How wide the columns of a table are where its lines have to fit a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

GAP = 2
"""Spaces between columns."""

NARROW = 8
"""No column is made narrower than this: it could not be read."""


def column_widths(
    natural: Sequence[int], room: int, *, whole: Collection[int] = (), important: Collection[int] = ()
) -> list[int]:
    """The widths of columns that are as wide as *natural* if nothing is wrapped, on lines of *room* characters.

    The widest columns give way first, the *important* ones last; *whole* ones, which hold numbers and ids, never. So a
    table can be wider than *room* where that would break an id.
    """
    widths = list(natural)
    over = sum(widths) + GAP * (len(widths) - 1) - room
    others = [place for place in range(len(widths)) if place not in whole and place not in important]
    for yielding in (others, [place for place in important if place not in whole]):
        over = _shrink(widths, yielding, over)
    return widths


def _shrink(widths: list[int], yielding: Sequence[int], over: int) -> int:
    """Make the widest of these columns narrower, one by one, until nothing is too much; returns what still is."""
    while over > 0 and yielding:
        widest = max(yielding, key=widths.__getitem__)
        if widths[widest] <= NARROW:
            break
        widths[widest] -= 1
        over -= 1
    return over
