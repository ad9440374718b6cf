"""Where a message is on its own platform."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.platform import Platform, registered_platforms
from tidegate.history.rules.message_links import original_link
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP

NUMBERS = st.integers(1, 2**63 - 1)


@pytest.mark.parametrize(
    ("platform", "guild", "topic", "link"),
    [
        (TELEGRAM, None, None, "https://t.me/c/7/4"),
        (TELEGRAM, None, 1, "https://t.me/c/7/4"),
        (TELEGRAM, None, 3, "https://t.me/c/7/3/4"),
        (DISCORD, 9, None, "https://discord.com/channels/9/7/4"),
        (DISCORD, None, None, "https://discord.com/channels/@me/7/4"),
        (WHATSAPP, None, None, None),
    ],
)
def test_each_platform_has_its_own_links(
    platform: Platform, guild: int | None, topic: int | None, link: str | None
) -> None:
    """As the platforms' own apps write them; WhatsApp has none."""
    assert original_link(platform, 7, 4, guild=guild, topic=topic) == link


@given(st.sampled_from(registered_platforms()), NUMBERS, NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS)
def test_a_link_leads_to_the_platform_and_ends_with_the_message(
    platform: Platform, channel: int, message: int, guild: int | None, topic: int | None
) -> None:
    """Nothing that a stranger wrote is part of it."""
    link = original_link(platform, channel, message, guild=guild, topic=topic)
    if link is not None:
        assert link.startswith(("https://t.me/c/", "https://discord.com/channels/"))
        assert link.endswith(f"/{message}")
