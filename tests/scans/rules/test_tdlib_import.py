"""What the numbers of a TDLib database mean here (scenario K of the scans)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import BadInput
from tidegate.scans.rules.scan_decision import ScanMemory, search_above
from tidegate.scans.rules.tdlib_import import channel_from_tdlib, imported_memory, message_from_tdlib, topic_from_tdlib

server_numbers = st.integers(1, 2**31 - 1)


def test_s85_tdlib_units_become_the_servers_numbers() -> None:
    """S-85: watermark 52428800 is message 50, thread 7340032 is topic 7, and the next scan starts above 50."""
    memory = imported_memory(52428800)
    assert (memory.watermark, topic_from_tdlib(7340032)) == (50, 7)
    assert search_above(memory) == 50
    assert memory.last_scanned_at is None, "a place another program read is still new to us"


def test_a_place_that_was_not_read_has_nothing_to_bring() -> None:
    """No watermark is no memory."""
    assert imported_memory(None) == ScanMemory()


@given(number=server_numbers)
def test_a_message_keeps_its_number(number: int) -> None:
    """TDLib's unit is taken away, whatever the number."""
    assert message_from_tdlib(number << 20) == number


def test_the_first_and_the_last_number_are_taken_and_no_other() -> None:
    """A server's numbers have 31 bits and begin at 1; channels begin right below TDLib's mark."""
    last = 2**31 - 1
    assert [message_from_tdlib(number << 20) for number in (1, last)] == [1, last]
    assert [topic_from_tdlib(number) for number in (1, last)] == [1, last]
    for beyond in (0, last + 1):
        with pytest.raises(BadInput, match="Check the column"):
            message_from_tdlib(beyond << 20)
    with pytest.raises(BadInput, match="not the number of a topic"):
        topic_from_tdlib(last + 2)
    assert channel_from_tdlib(-(10**12) - 1) == 1
    with pytest.raises(BadInput, match="not a channel"):
        channel_from_tdlib(-(10**12))


@given(number=server_numbers.filter(lambda number: number % 2**20))
def test_a_topic_is_read_in_old_and_new_units(number: int) -> None:
    """Old databases shift it, newer ones do not; General is 1 in both."""
    assert topic_from_tdlib(number << 20) == topic_from_tdlib(number) == number


@given(number=st.integers(1, 10**11))
def test_a_channel_is_freed_from_its_prefix(number: int) -> None:
    """-1001234567890 is channel 1234567890."""
    assert channel_from_tdlib(-(10**12) - number) == number


@pytest.mark.parametrize("message", [52428801, 50, 0, -52428800, 1 << 60])
def test_what_is_no_sent_message_is_refused_in_a_sentence(message: int) -> None:
    """bad-input-gets-a-sentence: a message that was never sent, or a column that holds something else."""
    with pytest.raises(BadInput, match="Check the column"):
        message_from_tdlib(message)


@pytest.mark.parametrize("thread", [0, -7, 2**31 + 1])
def test_what_is_no_topic_is_refused_in_a_sentence(thread: int) -> None:
    """Nothing is guessed from a number that cannot be."""
    with pytest.raises(BadInput, match="not the number of a topic"):
        topic_from_tdlib(thread)


@pytest.mark.parametrize("chat", [-(10**12), -4711, 4711])
def test_what_is_no_channel_is_refused_in_a_sentence(chat: int) -> None:
    """People and small groups have numbers of another kind."""
    with pytest.raises(BadInput, match="not a channel"):
        channel_from_tdlib(chat)
