"""How the platforms end a walk over a history, for worlds that tests make up."""

from __future__ import annotations

from enum import StrEnum


class EndRule(StrEnum):
    """How a platform ends a walk: on Discord with a short page; on Telegram a short page says nothing."""

    SHORT_PAGE = "a page with fewer messages than asked for"
    EMPTY_PAGE = "a page without messages"

    def ended(self, *, received: int, limit: int) -> bool:
        """Whether an unfiltered page with this number of messages was the last of its walk."""
        return received < limit if self is EndRule.SHORT_PAGE else received == 0
