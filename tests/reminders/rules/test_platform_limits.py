"""What each platform takes of a message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.platform import MessageLimits, registered_platforms
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.reminders.rules.platform_limits import too_large, too_long


@given(platform=st.sampled_from(registered_platforms()), length=st.integers(0, 5_000), caption=st.booleans())
def test_a_text_is_refused_from_the_first_character_too_many(platform, length, caption):
    """Exactly what is published is taken, and a platform that publishes nothing is left to answer for itself."""
    most = platform.limits.caption if caption else platform.limits.text
    refused = too_long(platform, "x" * length, caption=caption)
    assert bool(refused) == (most is not None and length > most)
    assert not refused or (str(length) in refused and str(most) in refused)


@given(
    platform=st.sampled_from(registered_platforms()),
    size=st.integers(0, 200 << 20),
    largest=st.none() | st.sampled_from([10, 50, 100]).map(lambda one: one << 20),
)
def test_a_file_is_refused_from_the_first_byte_too_many(platform, size, largest):
    """By what the platform told of the group, else by what it takes everywhere; group and limit are in the sentence."""
    most = platform.limits.file if largest is None else largest
    refused = too_large(platform, size, largest=largest, where="north")
    assert bool(refused) == (most is not None and size > most)
    assert not refused or f"and north takes {most >> 20} MiB" in refused


def test_a_byte_too_many_is_seen_in_the_figure():
    """Nobody reads that a file of 10 MiB is more than 10 MiB."""
    assert "has 10.1 MiB" in too_large(DISCORD, (10 << 20) + 1, largest=None, where="north")


def test_every_platform_is_known_by_what_it_publishes():
    """None is forgotten when one is added; 10 MiB is what Discord takes without a boost."""
    assert {platform: platform.limits for platform in registered_platforms()} == {
        TELEGRAM: MessageLimits(text=4_096, caption=1_024),
        DISCORD: MessageLimits(text=2_000, caption=2_000, file=10_485_760),
        WHATSAPP: MessageLimits(),
    }
