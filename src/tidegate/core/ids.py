"""The types of ids. Each id has a type of its own, so that mypy finds one that is given in the place of another.

A channel has two: our key, which the database gives out, and the platform's id. A bound of a range of messages
(``Span``, a watermark) is a plain number, because it need not be the id of any message.
"""

from __future__ import annotations

from typing import NamedTuple, NewType

# Ours: the database gives them out

AccountId = NewType("AccountId", int)
ArchiveId = NewType("ArchiveId", int)  # an archive is a set of the parts that were posted of it
CallId = NewType("CallId", int)
ChannelKey = NewType("ChannelKey", int)  # in addresses of pages; commands and JSON name the ChannelId
CommandId = NewType("CommandId", int)
CycleId = NewType("CycleId", int)  # unique over all accounts
CycleNumber = NewType("CycleNumber", int)  # which cycle of its account it is
DeliveryId = NewType("DeliveryId", int)  # of one message that delivers a part of an archive
ReminderId = NewType("ReminderId", int)
RunId = NewType("RunId", int)
TargetListId = NewType("TargetListId", int)
TargetNumber = NewType("TargetNumber", int)  # which target of its run it is
WorkerNumber = NewType("WorkerNumber", int)

# Ours: chosen at random and stored before the first use

UploadId = NewType("UploadId", int)

# Ours: computed

Sha256 = NewType("Sha256", bytes)  # the digest of a file's bytes, by which they are stored

# The platform's

AlbumId = NewType("AlbumId", int)  # shared by the messages of one album
ChannelId = NewType("ChannelId", int)
FileId = NewType("FileId", int)  # a file that is posted twice may keep it; negative: derived from its address
GuildId = NewType("GuildId", int)
MessageId = NewType("MessageId", int)  # ordered within its channel
TopicId = NewType("TopicId", int)  # unique within its forum; General is 1, and 0 stands for the whole channel
UserId = NewType("UserId", int)  # of a person or a bot


class Span(NamedTuple):
    """A range of message ids, both ends included."""

    low: int
    high: int
