"""What the numbers of a TDLib database mean here, for operators who bring their watermarks along (seed 000).

TDLib keeps twenty bits below a message's number for messages that were not sent yet. Tidegate keeps the server's
numbers only, for messages, topics and channels.
"""

from __future__ import annotations

from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelId, MessageId, TopicId
from tidegate.scans.rules.scan_decision import ScanMemory

_UNIT = 1 << 20
_CHANNELS_BELOW = -1_000_000_000_000
_LARGEST_NUMBER = (1 << 31) - 1


def message_from_tdlib(number: int) -> MessageId:
    """The server's number of a message that TDLib knows by *number*."""
    message, rest = divmod(number, _UNIT)
    if rest or not 0 < message <= _LARGEST_NUMBER:
        raise BadInput(
            f"{number} is not the number of a sent message in TDLib's units: such a number is a multiple of {_UNIT}. "
            "Check the column that was imported."
        )
    return MessageId(message)


def topic_from_tdlib(thread: int) -> TopicId:
    """The server's number of a topic. Old databases have it in TDLib's units, newer ones as it is."""
    if thread > 0 and thread % _UNIT == 0:
        return TopicId(message_from_tdlib(thread))
    if not 0 < thread <= _LARGEST_NUMBER:
        raise BadInput(f"{thread} is not the number of a topic. Check the column that was imported.")
    return TopicId(thread)


def channel_from_tdlib(chat: int) -> ChannelId:
    """The server's number of a channel, which TDLib writes below -1,000,000,000,000."""
    if chat >= _CHANNELS_BELOW:
        raise BadInput(f"Chat {chat} is not a channel or a large group: only those can be mirrored.")
    return ChannelId(_CHANNELS_BELOW - chat)


def imported_memory(watermark: int | None) -> ScanMemory:
    """The memory of a place that another program has read up to *watermark*, None for one it has not read.

    It counts as never scanned by us, so the first cycle reads it, from above the watermark on.
    """
    if watermark is None:
        return ScanMemory()
    number = message_from_tdlib(watermark)
    return ScanMemory(watermark=number, newest_seen=number)
