"""What the menu has to know: which platforms are connected, and whether something is kept of earlier ones."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.database.pool import Connection


@dataclass(frozen=True, slots=True)
class MenuFacts:
    """The platforms of all accounts, and whether there are mirrored channels and reminders."""

    platforms: tuple[str, ...]
    has_channels: bool
    has_reminders: bool


async def read(connection: Connection) -> MenuFacts:
    row = await connection.fetchrow(
        """
        SELECT (SELECT coalesce(array_agg(DISTINCT platform), '{}') FROM accounts) AS platforms,
            EXISTS (SELECT FROM channels WHERE enabled) AS channels, EXISTS (SELECT FROM reminders) AS reminders
        """
    )
    assert row is not None
    return MenuFacts(tuple(row["platforms"]), row["channels"], row["reminders"])
